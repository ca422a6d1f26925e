"""Whether the packages that mixcl needs are there, and fit."""

import importlib
from importlib import metadata

from packaging.requirements import Requirement

from mixcl.doctor.findings import FAULT, NOTE, OK, Finding

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
    'tensorboard': 'tensorboard',
    'opencv-python-headless': 'cv2',
}
"""Distributions and the modules that they bring."""

EXTRAS = {
    'mmdet': (
        'detection transfer (Mask R-CNN)',
        "pip install -c constraints.txt 'mixcl[det]', and mmcv with operators (see below)",
    ),
    'safetensors': ('reading and writing .safetensors weights', 'pip install safetensors'),
    'pytest': ('the tests', "pip install -c constraints.txt 'mixcl[test]'"),
}
"""Modules that are needed for one purpose only: the purpose, and how to get them."""

RIVALS = {
    'onedl-mmengine': 'mmengine',
    'onedl-mmcv': 'mmcv',
    'onedl-mmpretrain': 'mmpretrain',
    'onedl-mmdetection': 'mmdet',
}
"""The unmaintained distributions that write to the same folders as their continuation."""


def check_packages() -> list[Finding]:
    """Import everything that pretraining needs, and look for what extras need."""
    required = requirements()
    needed = [_needed(distribution, module, required) for distribution, module in NEEDED.items()]
    extras = [_extra(module, purpose, command) for module, (purpose, command) in EXTRAS.items()]
    return [*needed, *extras, *_rivals()]


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


def _needed(distribution: str, module: str, required: dict[str, Requirement]) -> Finding:
    try:
        imported = importlib.import_module(module)
    except Exception as error:  # packages that do not fit each other fail in any way
        reason = ' '.join(str(error).split())[:160]
        return Finding(
            FAULT,
            module,
            f'cannot be imported ({type(error).__name__}: {reason}): pip install -c constraints.txt {distribution}',
        )
    version = str(getattr(imported, '__version__', version_of(distribution)))
    bounds = required[distribution].specifier if distribution in required else ''
    if bounds and not bounds.contains(version.partition('+')[0], prereleases=True):
        sentence = (
            f'version {version} does not fit, mixcl needs {bounds}: pip install -c constraints.txt {distribution}'
        )
        return Finding(FAULT, module, sentence)
    return Finding(OK, module, version)


def _extra(module: str, purpose: str, command: str) -> Finding:
    try:
        imported = importlib.import_module(module)
    except Exception as error:
        return Finding(NOTE, module, f'not usable ({type(error).__name__}); it is for {purpose}: {command}')
    return Finding(OK, module, f'{getattr(imported, "__version__", "")}, for {purpose}')


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
