"""What detection needs beyond pretraining: mmdet, and mmcv's compiled operators for the torch that is installed.

Importing this module checks both.
"""

import contextlib
import importlib.util
import io

import torch

from mixcl.errors import UserError

COMPILE = (
    'run `make det`, or compile them for the installed torch with `pip install --no-build-isolation --no-cache-dir '
    '--force-reinstall --no-deps onedl-mmcv` (docs/detection.md)'
)


def check_requirements(device: str = 'cpu') -> None:
    """Check that mmdet is installed and that mmcv's operators work, by calling two of them on a device.

    Importing operators is not enough: those compiled for another torch, or without CUDA, import but fail when called.
    (Importing this module checks the CPU, so that no process takes memory of the first GPU.)

    Raises:
        UserError: if something is missing; says which command installs it.
    """
    if importlib.util.find_spec('mmdet') is None:
        raise UserError('mixcl.detection needs mmdet, which is not installed; run `make det` (docs/detection.md)')
    try:
        from mmcv.ops import nms, roi_align

        boxes = torch.tensor([[0.0, 0.0, 9.0, 9.0], [0.0, 0.0, 9.0, 8.0], [20.0, 20.0, 29.0, 29.0]], device=device)
        nms(boxes, torch.tensor([0.9, 0.8, 0.7], device=device), 0.5)
        roi_align(torch.ones(1, 1, 8, 8, device=device), torch.tensor([[0.0, 0.0, 0.0, 4.0, 4.0]], device=device), 2)
    except Exception as error:  # operators of another torch raise whatever its runtime raises
        raise UserError(
            f"mmcv's operators are missing, or do not run on {device} with torch {torch.__version__} "
            f'({" ".join(str(error).split())[:160]}); {COMPILE}'
        ) from error


check_requirements()

with contextlib.redirect_stdout(io.StringIO()):
    import mmdet.datasets  # noqa: F401  (tells everyone, twice, that an optional package is missing)
