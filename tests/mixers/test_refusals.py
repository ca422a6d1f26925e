"""Arguments and batches that make no sense are refused in one sentence."""

import pytest
import torch

from mixcl.errors import UserError
from mixcl.registry import MIXERS

THREE = [dict(type='Mixup'), dict(type='CutMix'), dict(type='ResizeMix')]
REGION = 'have 4x7 cells of cell=32 pixels, fewer than the 5 of cells=(3, 4, 5)'
ALPHA, BOUNDS = 'alpha must be a finite number above 0', '0 <= low <= high <= 1'
CHANCES = 'probabilities must be 3 numbers'
NEVER = dict(type='Choice', mixers=[dict(type='Mixup'), dict(type='PatchMix', patch_size=5)], probabilities=[1.0, 0.0])

ARGUMENTS = [
    *(
        (dict(type='Mixup', pairing=name), 'one of derangement, flip, halves, permutation, same')
        for name in ('flipped', None)
    ),
    *((dict(type='Mixup', share=dict(type='Beta', alpha=alpha)), ALPHA) for alpha in (0, '1')),
    *((dict(type='Mixup', share=dict(type='Uniform', low=low)), BOUNDS) for low in (-0.1, '0')),
    (dict(type='Mixup', share=dict(type='Uniform', low=0.6, high=0.5)), BOUNDS),
    (dict(type='ResizeMix', box_share='area'), "box_share must be 'exact' or 'code', not 'area'"),
    *((dict(type='RegionSwap', cell=cell), 'RegionSwap: cell must be') for cell in (0, 4.0)),
    *((dict(type='RegionSwap', cells=cells), 'RegionSwap: cells must be') for cells in ((), (0, 2), 3)),
    *((dict(type='PatchMix', num_mix=number), 'PatchMix: num_mix must be') for number in (0, 2.5, ())),
    *((dict(type='MixMask', grid=grid), 'MixMask: grid must be a whole number of at least 2') for grid in (1, 2.5)),
    *(
        (dict(type='MixMask') | small, 'cells is less than the smallest block, 4 cells; raise grid or share')
        for small in (dict(grid=2), dict(share=0.2))
    ),
    (dict(type='MixMask', share=1.5), 'MixMask: share must be a number between 0 and 1'),
    (dict(type='Stitch', side=1), 'Stitch: side must be a whole number of at least 2'),
    (dict(type='PatchMix', patch_size=0), 'PatchMix: patch_size must be'),
    (dict(type='PatchMix', probability=1.5), 'PatchMix: probability must be a number between 0 and 1'),
    *((dict(type='Choice', mixers=THREE, probabilities=p), CHANCES) for p in ([0.5, 0.5], [-0.5, 0.5, 1.0])),
    *((dict(type='Choice', mixers=mixers), 'must list at least one mixer') for mixers in ([], dict(type='Mixup'))),
]
BATCHES = [
    *(
        (dict(type=name), 1, (224, 224), 'batches of 1 image; raise batch')
        for name in ('Mixup', 'RegionSwap', 'MixMask')
    ),
    (dict(type='PatchMix', patch_size=5), 8, (16, 15), 'cannot be cut into patches of 5x5'),
    (dict(type='PatchMix', num_mix=5, patch_size=8), 8, (16, 16), 'num_mix=5 images do not fit into the 2x2 patches'),
    (dict(type='RegionSwap'), 8, (159, 224), REGION),
    (dict(type='MixMask', grid=8), 8, (16, 7), '16x7 pixels cannot be cut into 8x8 cells; lower grid=8'),
    (dict(type='Stitch', side=3), 8, (32, 32), 'side=3 needs 9 images, but one process sees batches of 8'),
    (dict(type='Stitch', side=3), 9, (32, 2), 'images of 32x2 pixels are smaller than side=3'),
    (NEVER, 8, (16, 16), 'cannot be cut into patches of 5x5'),
]


@pytest.mark.parametrize(('config', 'message'), ARGUMENTS)
def test_arguments(config: dict, message: str) -> None:
    with pytest.raises(UserError) as refused:
        MIXERS.build(config)
    assert message in str(refused.value)


@pytest.mark.parametrize(('config', 'batch', 'size', 'message'), BATCHES)
def test_batches(config: dict, batch: int, size: tuple[int, int], message: str) -> None:
    with pytest.raises(UserError) as refused:
        MIXERS.build(config).check(batch, *size)
    assert message in str(refused.value)


@pytest.mark.parametrize(
    'config',
    [dict(type='PatchMix', patch_size=32), dict(type='RegionSwap'), dict(type='MixMask', grid=160)],
)
def test_sizes_are_checked_again_where_images_are_mixed(config: dict) -> None:
    """Users call mixers without a loader, too."""
    MIXERS.build(config).check(8, 160, 224)
    with pytest.raises(UserError, match='159'):
        MIXERS.build(config)(torch.zeros(4, 3, 159, 224))
