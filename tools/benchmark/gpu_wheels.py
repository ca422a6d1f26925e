"""Make the wheels that a GPU machine without a network lacks, and print the one command to run there.

``python3.12 tools/benchmark/gpu_wheels.py`` fills the folder .wheels, which git ignores, for Python 3.12 on x86-64, in
the versions of constraints.txt. Copy the repository and the folder to the machine; it has torch, torchvision, timm,
scikit-learn, opencv-python-headless, tensorboard, safetensors, rich and pytest.
"""

import platform
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
WHEELS = ROOT / '.wheels'
MISSING = (
    *('addict', 'importlib-metadata', 'lazy-importer', 'mat4py', 'model-index', 'modelindex', 'ordered-set'),
    *('platformdirs', 'termcolor', 'yapf', 'onedl-mmengine', 'onedl-mmpretrain', 'onedl-mmcv'),
)
"""Packages; mmcv without its operators, which pretraining does not need, as an isolated build makes it."""
COMMAND = (
    'B=$(date +%s); python3 -m pip install -q --no-index --no-deps --no-compile --target /tmp/site .wheels/*.whl && '
    'PYTHONPATH=/tmp/site python3 tools/benchmark/gpu_day.py --begun $B --minutes 9 --out "$OUT"'
)
"""For a shell in the root of the copied repository; figures and logs come into $OUT."""


def main() -> None:
    if sys.version_info[:2] != (3, 12) or platform.machine() != 'x86_64':
        sys.exit(
            f'error: wheels for the GPU machine are made by Python 3.12 on x86-64; this is {sys.version.split()[0]}'
        )
    WHEELS.mkdir(exist_ok=True)
    for old in WHEELS.glob('*.whl'):
        old.unlink()
    words = ['wheel', '-q', '--no-deps', '--no-cache-dir', '-c', ROOT / 'constraints.txt', '-w', WHEELS]
    subprocess.run([sys.executable, '-m', 'pip', '--disable-pip-version-check', *words, *MISSING], check=True)
    tracked = subprocess.run(['git', 'ls-files', '-z'], cwd=ROOT, capture_output=True, text=True).stdout.split('\0')
    wheels, repository = megabytes(WHEELS.glob('*.whl')), megabytes(ROOT / name for name in tracked if name)
    print(f'{wheels:.1f} MB in {WHEELS.name} and {repository:.1f} MB of the repository travel. There:')
    print(COMMAND)


def megabytes(files: Iterable[Path]) -> float:
    return sum(file.stat().st_size for file in files if file.is_file()) / 1e6


if __name__ == '__main__':
    main()
