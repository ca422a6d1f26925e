"""Masks made of blocks."""

import math
import random

import numpy as np
import torch

from mixcl.mixers.block_masks import block_masks


def drawn_as_by_the_authors(most: float, height: int, width: int, smallest: int, draws: random.Random) -> np.ndarray:
    """Mask one image, block by block, as BEiT's Algorithm 1 says."""
    mask, aspects = np.zeros((height, width), dtype=bool), (math.log(0.3), math.log(1 / 0.3))
    while (left := most - mask.sum()) > 0:
        for _ in range(10):
            area, aspect = draws.uniform(smallest, left), math.exp(draws.uniform(*aspects))
            high, wide = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
            if high < height and wide < width:
                top, first = draws.randint(0, height - high), draws.randint(0, width - wide)
                block = mask[top : top + high, first : first + wide]
                if 0 < (~block).sum() <= left:
                    block[:] = True
                    break
        else:
            break
    return mask


def test_masks_have_as_many_edges_as_those_of_the_authors() -> None:
    """The number of cells is not rounded: blocks of 5.9 cells are larger than those of 5."""
    edges = []
    most = 64 * (0.1 + 0.4 * torch.rand(4000, generator=torch.Generator().manual_seed(1)))
    draws, drawn = random.Random(0), block_masks(most, (8, 8), torch.Generator().manual_seed(0))
    theirs = [drawn_as_by_the_authors(64 * draws.uniform(0.1, 0.5), 8, 8, 4, draws) for _ in drawn]
    for masks in (drawn.numpy(), np.stack(theirs)):
        edges.append((masks[:, 1:] ^ masks[:, :-1]).sum((1, 2)) + (masks[:, :, 1:] ^ masks[:, :, :-1]).sum((1, 2)))
    error = math.sqrt(sum(found.var() / len(found) for found in edges))
    assert abs(edges[0].mean() - edges[1].mean()) < 3 * error


def test_masks_are_blocks_of_no_more_cells_than_asked() -> None:
    masks = block_masks(torch.tensor([0.0, 3.0, 8.0, *[30.0] * 200]), (9, 12), torch.Generator().manual_seed(0))
    counts = masks.flatten(1).sum(dim=1)
    assert counts[0] == 0 and counts[1] <= 3 and counts[2] <= 8 and counts[3:].max() <= 30
    assert counts[3:].float().mean() > 24
    alike = (masks[3:, :, 1:] == masks[3:, :, :-1]).float().mean()  # of neighbours; .6 if drawn one by one
    assert alike > 0.8
    assert not torch.equal(masks[3], masks[4])


def test_half_a_grid_is_masked_as_often_as_by_the_authors() -> None:
    """On MixMask's grid, with blocks of at least 4 cells: half of the cells in most draws."""
    draws, drawn = random.Random(0), block_masks(torch.full((4000,), 8.0), (4, 4), torch.Generator().manual_seed(0), 4)
    theirs = np.stack([drawn_as_by_the_authors(8, 4, 4, 4, draws) for _ in drawn])
    counts = [torch.as_tensor(masks).flatten(1).sum(1).bincount(minlength=9) / 4000 for masks in (drawn, theirs)]
    assert 0.5 < counts[0][8] < 1
    torch.testing.assert_close(*counts, atol=0.04, rtol=0)
