"""MixMask beside a loop over pixels, and the shares it reports."""

import torch
from torch.nn import functional

from mixcl.mixers import MixMask
from mixcl.mixers.block_masks import block_masks


def test_every_pixel_is_the_owners_in_a_masked_cell_and_the_partners_elsewhere() -> None:
    for height, width, grid in ((16, 16, 4), (24, 16, 8), (13, 10, 3)):
        images = torch.arange(5.0)[:, None, None, None].expand(5, 3, height, width)
        mixed, made = MixMask(grid=grid)(images, torch.Generator().manual_seed(0))
        most = torch.tensor([float(grid * grid // 2)])
        (cells,) = block_masks(most, (grid, grid), torch.Generator().manual_seed(0), 4)
        for i in range(5):
            for y in range(height):
                for x in range(width):
                    owned = bool(cells[y * grid // height, x * grid // width])
                    assert mixed[i, :, y, x].tolist() == [i if owned else 4 - i] * 3
                    assert made.shown[i, y, x] == (not owned)
        share = (~made.shown).float().mean((1, 2))
        assert made.sources.tolist() == [[i, 4 - i] for i in range(5)]
        torch.testing.assert_close(made.weights, torch.stack([share, 1 - share], 1))
    # the enlargement is torch's
    enlarged = functional.interpolate(cells[None, None].float(), (height, width), mode='nearest')[0, 0]
    assert torch.equal(enlarged.bool(), ~made.shown[0])


def test_half_of_the_image_is_the_owners_in_most_draws() -> None:
    images, random, mixer = torch.zeros(2, 1, 8, 8), torch.Generator().manual_seed(0), MixMask()
    shares = torch.stack([mixer(images, random)[1].weights[0, 0] for _ in range(300)])
    assert shares.max() == 0.5 and 0.6 < (shares == 0.5).float().mean() < 1
    assert (16 * shares % 1 == 0).all()
