"""Whether the packages that mixcl needs are there, and fit."""

import importlib
from importlib import metadata
from types import ModuleType

import torch
from packaging.requirements import Requirement

from mixcl.doctor import FAULT, OK, Finding

NEEDED = {
    'torch': 'torch',
    'torchvision': 'torchvision',
    'timm': 'timm',
    'onedl-mmengine': 'mmengine',
    'onedl-mmcv': 'mmcv',
    'onedl-mmpretrain': 'mmpretrain',
    'numpy': 'numpy',
    'scikit-learn': 'sklearn',
    'matplotlib': 'matplotlib',
    'safetensors': 'safetensors',
    'tensorboard': 'tensorboard',
    'opencv-python-headless': 'cv2',
}
"""Distributions and the modules that they bring."""

RIVALS = {f'onedl-{name}': name for name in ('mmengine', 'mmcv', 'mmpretrain')} | {'onedl-mmdetection': 'mmdet'}
"""The unmaintained distributions that write to the same folders as their continuation."""


def check_packages() -> list[Finding]:
    """Import everything that pretraining needs."""
    required = requirements()
    return [*(_needed(name, module, required.get(name)) for name, module in NEEDED.items()), *_rivals()]


def requirements() -> dict[str, Requirement]:
    """What mixcl says that it needs, by distribution; empty where it runs from its sources without installation."""
    try:
        required = map(Requirement, metadata.requires('mixcl') or ())
    except metadata.PackageNotFoundError:
        return {}
    return {requirement.name: requirement for requirement in required if requirement.marker is None}


def version_of(distribution: str) -> str | None:
    """The installed version, or None."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def _needed(distribution: str, module: str, required: Requirement | None) -> Finding:
    advice = f'pip install -c constraints.txt {distribution}'
    try:
        imported = _used(module)
    except Exception as error:  # packages that do not fit each other fail in any way
        reason = f'{type(error).__name__}: {" ".join(str(error).split())[:160]}'
        return Finding(FAULT, module, f'cannot be used ({reason}): {advice}')
    version = str(getattr(imported, '__version__', version_of(distribution)))
    if required and not required.specifier.contains(version.partition('+')[0], prereleases=True):
        return Finding(FAULT, module, f'version {version} does not fit, mixcl needs {required.specifier}: {advice}')
    return Finding(OK, module, version)


def _used(module: str) -> ModuleType:
    imported = importlib.import_module(module)
    if module == 'torchvision':  # one that was built for another torch may be imported, but not called
        imported.ops.nms(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([1.0]), 0.5)
    return imported


def _rivals() -> list[Finding]:
    both = [(kept, rival) for kept, rival in RIVALS.items() if version_of(kept) and version_of(rival)]
    return [
        Finding(
            FAULT,
            rival,
            f'both {rival} {version_of(rival)} and {kept} {version_of(kept)} are installed and overwrite each other: '
            f'pip uninstall -y {rival} {kept} && pip install -c constraints.txt {kept}',
        )
        for kept, rival in both
    ]
