import torch

from mixcl.mixers import RegionSwap


def coloured(batch: int, height: int, width: int) -> torch.Tensor:
    return torch.arange(float(batch))[:, None, None, None].expand(batch, 3, height, width)


def test_one_rectangle_of_whole_cells_shows_the_reversed_batch():
    images, mixer = torch.randn(5, 3, 224, 224), RegionSwap()
    for seed in range(5):
        mixed, composition = mixer(images, torch.Generator().manual_seed(seed))
        swapped = (mixed[0] != images[0]).all(0)
        rows, columns = swapped.any(1).nonzero().flatten(), swapped.any(0).nonzero().flatten()
        height, width = len(rows), len(columns)
        assert {height, width} <= {96, 128, 160} and rows[0] % 32 == 0 and columns[0] % 32 == 0
        top, left = rows[0], columns[0]
        expected = images.clone()
        box = (slice(None), slice(None), slice(top, top + height), slice(left, left + width))
        expected[box] = images.flip(0)[box]
        assert torch.equal(mixed, expected)
        assert composition.sources.tolist() == [[0, 4], [1, 3], [2, 2], [3, 1], [4, 0]]
        expected_weights = torch.tensor([1 - height * width / 224**2, height * width / 224**2]).expand(5, 2)
        torch.testing.assert_close(composition.weights, expected_weights)


def test_sides_and_places_are_drawn_independently_and_evenly():
    images, mixer, rng = coloured(2, 12, 14), RegionSwap(cell=2, cells=(2, 3)), torch.Generator().manual_seed(0)
    seen = {}
    for _ in range(2000):
        shown = mixer(images, rng)[0][0, 0] == 1
        rows, columns = shown.any(1).nonzero().flatten().tolist(), shown.any(0).nonzero().flatten().tolist()
        seen.setdefault((len(rows), len(columns)), []).append((rows[0], columns[0]))
    assert {sides: len(set(places)) for sides, places in seen.items()} == {
        (4, 4): 5 * 6,
        (4, 6): 5 * 5,
        (6, 4): 4 * 6,
        (6, 6): 4 * 5,
    }
    assert all(420 < len(places) < 580 for places in seen.values())


def test_images_that_are_no_multiple_of_a_cell_keep_their_border():
    mixed, _ = RegionSwap(cell=4, cells=(2,))(coloured(2, 10, 11))
    assert (mixed[0, :, 8:] == 0).all() and (mixed[0, :, :, 8:] == 0).all()
