"""A wheel holds the package, configs and tools, and its configs work outside the repository."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

from mmengine.config import Config

ROOT = Path(__file__).parent.parent


def files(folder: str) -> set[str]:
    paths = [path for path in (ROOT / folder).rglob('*') if path.is_file() and '__pycache__' not in path.parts]
    return {str(path.relative_to(ROOT)) for path in paths if '.mim' not in path.parts}


def test_the_wheel_ships_the_package_configs_and_tools(tmp_path: Path) -> None:
    hidden = shutil.ignore_patterns('.*', 'build', 'work_dirs', 'data', '*.egg-info', '__pycache__')
    shutil.copytree(ROOT, tmp_path / 'mixcl', ignore=hidden)
    build = [sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '-q', '-w', tmp_path]
    subprocess.run([*build, tmp_path / 'mixcl'], check=True, capture_output=True)
    wheel = zipfile.ZipFile(next(tmp_path.glob('mixcl-*.whl')))
    names = set(wheel.namelist())
    assert files('mixcl') <= names
    assert {f'mixcl/.mim/{path}' for path in files('configs') | files('tools')} <= names
    assert not [name for name in names if name.startswith('tests/')]
    wheel.extractall(tmp_path / 'installed')
    cfg = Config.fromfile(tmp_path / 'installed/mixcl/.mim/configs/patchmix/vit-s16_in1k.py')
    assert cfg.model.mixer.num_mix == 3
