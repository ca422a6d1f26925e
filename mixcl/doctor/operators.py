"""Whether compiled operators work, by calling them."""

import importlib

import torch

from mixcl.doctor.findings import FAULT, NOTE, OK, Finding

INSTALL_MMCV = 'pip install -c constraints.txt onedl-mmcv'
BUILD_MMCV = (
    "pip install ninja psutil 'setuptools<81' && pip install --force-reinstall --no-deps --no-cache-dir "
    '--no-build-isolation -c constraints.txt onedl-mmcv'
)
"""Without the cache, which may hand back a build for another torch."""


def check_mmcv() -> Finding:
    """Tell apart: no mmcv at all, mmcv without compiled operators, operators built for another torch, and all well."""
    try:
        importlib.import_module('mmcv')
    except ImportError as error:
        return Finding(FAULT, 'mmcv', f'is not installed ({error}); pretraining reads images with it: {INSTALL_MMCV}')
    try:
        operators = importlib.import_module('mmcv.ops')
    except ModuleNotFoundError:
        return Finding(
            NOTE,
            'mmcv operators',
            'mmcv was built without compiled operators; pretraining needs none, detection (mmdet) does: after torch, '
            f'{BUILD_MMCV} (10 to 20 minutes)',
        )
    except (ImportError, OSError, AttributeError) as error:
        return _stale(error)
    try:
        _call(operators)
    except Exception as error:  # a binary for another torch fails in any way
        return _stale(error)
    return Finding(OK, 'mmcv operators', 'nms and roi_align give the right results')


def _stale(error: BaseException) -> Finding:
    reason = ' '.join(str(error).split())[:160]
    return Finding(
        NOTE,
        'mmcv operators',
        f'mmcv was compiled for another version than the installed torch {torch.__version__} ({type(error).__name__}: '
        f'{reason}); pretraining works, detection (mmdet) will fail: rebuild it with {BUILD_MMCV}',
    )


def _call(operators: object) -> None:
    boxes = torch.tensor([[0.0, 0.0, 10.0, 10.0], [0.0, 0.0, 10.0, 9.5], [20.0, 20.0, 30.0, 30.0]])
    _, kept = operators.nms(boxes, torch.tensor([0.9, 0.8, 0.7]), iou_threshold=0.5)
    if kept.tolist() != [0, 2]:
        raise RuntimeError(f'nms keeps {kept.tolist()} instead of [0, 2]')
    pooled = operators.roi_align(torch.ones(1, 1, 8, 8), torch.tensor([[0.0, 1.0, 1.0, 6.0, 6.0]]), (2, 2))
    if not torch.allclose(pooled, torch.ones(1, 1, 2, 2)):
        raise RuntimeError('roi_align of a constant image is not constant')


def check_torchvision() -> Finding:
    """Call an operator of torchvision, which must be built for the installed torch too."""
    try:
        torchvision = importlib.import_module('torchvision')
        kept = torchvision.ops.nms(torch.tensor([[0.0, 0.0, 1.0, 1.0]]), torch.tensor([1.0]), 0.5)
    except Exception as error:  # as above
        return Finding(
            FAULT,
            'torchvision operators',
            f'torchvision does not fit torch {torch.__version__} ({type(error).__name__}: '
            f'{" ".join(str(error).split())[:160]}): '
            'pip install -c constraints.txt --force-reinstall torch torchvision',
        )
    return Finding(OK, 'torchvision operators', f'nms works (version {torchvision.__version__}, kept {len(kept)} of 1)')
