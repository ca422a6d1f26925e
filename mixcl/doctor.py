"""Checks of an installation: what is there, what is missing, what it is for, and the command that helps.

Packages may be missing or broken, so modules that need them are imported within functions.
"""

import importlib
import subprocess
import sys
from importlib import metadata
from typing import NamedTuple

OK, NOTE, FAULT = 'ok', 'note', 'FAULT'

NEEDED = {
    **dict.fromkeys(('torch', 'torchvision', 'timm', 'numpy', 'matplotlib', 'safetensors', 'tensorboard')),
    **{name: f'onedl-{name}' for name in ('mmengine', 'mmcv', 'mmpretrain')},
    'sklearn': 'scikit-learn',
    'cv2': 'opencv-python-headless',
}
"""Modules that pretraining imports, and the distributions that provide them; None if the name is the same."""


class Finding(NamedTuple):
    """One line of the report: a NOTE if something optional is missing, a FAULT if pretraining cannot work."""

    state: str
    subject: str
    sentence: str


def check_packages() -> list[Finding]:
    """Import everything that pretraining needs, and let pip compare versions with mixcl's requirements."""
    findings = [check_package(module, distribution or module) for module, distribution in NEEDED.items()]
    pip = subprocess.run([sys.executable, '-m', 'pip', 'check'], capture_output=True, text=True)
    advice = 'pip install -c constraints.txt -e .'
    said = [line.removesuffix('.') for line in pip.stdout.splitlines() if line.startswith('mixcl ')]
    return findings + [Finding(FAULT, 'mixcl', f'{line}: {advice}') for line in said]


def check_package(module: str, distribution: str) -> Finding:
    advice = f'pip install -c constraints.txt {distribution}'
    try:
        imported = importlib.import_module(module)
        if module == 'torchvision':  # built for another torch, it can be imported, but not called
            import torch

            imported.ops.nms(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([1.0]), 0.5)
    except Exception as error:  # incompatible packages fail in any way
        return Finding(FAULT, module, f'cannot be used ({type(error).__name__}: {_one_line(error)}): {advice}')
    rivals = {one.metadata['Name'] for one in metadata.distributions()} & {module, distribution}
    if len(rivals) > 1:
        both = ' and '.join(sorted(rivals))
        sentence = f'{both} are both installed and overwrite each other: pip uninstall -y {module} {distribution}'
        return Finding(FAULT, module, f'{sentence} && {advice}')
    return Finding(OK, module, str(getattr(imported, '__version__', 'installed')))


def check_detection() -> Finding:
    """Call the operators that detection needs; pretraining needs none of them."""
    try:
        from mixcl.detection.requirements import check_requirements

        check_requirements()
    except Exception as error:  # incompatible packages fail in any way
        return Finding(NOTE, 'detection', f'not usable: {_one_line(error)}; pretraining works without')
    return Finding(OK, 'detection', "mmdet is installed, and mmcv's nms and roi_align give the right results")


def check_gpus() -> list[Finding]:
    """Check that every GPU computes."""
    import torch

    findings = []
    for index in range(torch.cuda.device_count()):
        name, device = torch.cuda.get_device_name(index), torch.device('cuda', index)
        try:
            torch.ones(64, 64, device=device).matmul(torch.ones(64, 64, device=device)).cpu()
            free, total = (memory / 2**30 for memory in torch.cuda.mem_get_info(index))
        except RuntimeError as error:
            findings.append(Finding(FAULT, str(device), f'{name} cannot compute: {_one_line(error)}'))
            continue
        precision = 'bfloat16' if torch.cuda.is_bf16_supported() else 'no bfloat16: AmpOptimWrapper instead of --amp'
        findings.append(Finding(OK, str(device), f'{name}, {free:.1f} of {total:.1f} GiB free, {precision}'))
    none = f'torch {torch.__version__} sees no GPU (nvidia-smi checks the driver); small runs and --smoke need none'
    return findings or [Finding(NOTE, 'GPU', none)]


def _one_line(error: Exception) -> str:
    return ' '.join(str(error).split())[:300]
