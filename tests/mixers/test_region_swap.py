import itertools

import torch

from mixcl.mixers import RegionSwap


def coloured(batch: int, height: int, width: int) -> torch.Tensor:
    return torch.arange(float(batch))[:, None, None, None].expand(batch, 3, height, width)


def test_one_rectangle_of_whole_cells_shows_the_partner_and_is_drawn_evenly():
    images, mixer, rng = coloured(3, 12, 14), RegionSwap(cell=2, cells=(2, 3)), torch.Generator().manual_seed(0)
    seen = {}
    for _ in range(2000):
        mixed, composition = mixer(images, rng)
        inside = mixed[0, 0] == 2
        rows, columns = inside.any(1).nonzero().flatten().tolist(), inside.any(0).nonzero().flatten().tolist()
        height, width = len(rows), len(columns)
        expected = images.clone()
        box = (..., slice(rows[0], rows[0] + height), slice(columns[0], columns[0] + width))
        expected[box] = images.flip(0)[box]
        assert torch.equal(mixed, expected) and composition.sources.tolist() == [[0, 2], [1, 1], [2, 0]]
        share = 1 - height * width / (12 * 14)
        torch.testing.assert_close(composition.weights, torch.tensor([share, 1 - share]).expand(3, 2))
        seen.setdefault((height, width), []).append((rows[0], columns[0]))
    places = {sides: set(found) for sides, found in seen.items()}
    for height, width in itertools.product((4, 6), repeat=2):
        assert places[height, width] == set(itertools.product(range(0, 13 - height, 2), range(0, 15 - width, 2)))
    assert len(seen) == 4 and all(420 < len(found) < 580 for found in seen.values())


def test_images_that_are_no_multiple_of_a_cell_keep_their_border():
    mixed, _ = RegionSwap(cell=4, cells=(2,))(coloured(2, 10, 11))
    assert (mixed[0, :, 8:] == 0).all() and (mixed[0, :, :, 8:] == 0).all()
