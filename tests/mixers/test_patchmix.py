"""PatchMix's operator and targets; the vectors TV-PM-* are worked examples."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcl.composition import Composition
from mixcl.mixers.patchmix import PatchMix, patch_groups, patchmix_composition


def groups_to_sources(permutation: list[int], num_mix: int, batch: int) -> list[list[int]]:
    groups = patch_groups(torch.tensor(permutation), num_mix)
    return [((i + groups) % batch).tolist() for i in range(batch)]


def test_patch_map():
    """TV-PM-6, with and without a left-over patch."""
    assert groups_to_sources([2, 0, 5, 1, 4, 3], 3, 3) == [[0, 1, 0, 2, 2, 1], [1, 2, 1, 0, 0, 2], [2, 0, 2, 1, 1, 0]]
    assert groups_to_sources([2, 0, 5, 1, 6, 4, 3], 3, 3)[0] == [0, 1, 0, 0, 2, 1, 2]


@pytest.mark.parametrize(
    ('batch', 'num_mix', 'mixture', 'of_views', 'of_mixtures'),
    [
        # TV-PM-2 (Fig. 7)
        (9, 3, 7, {7: 1 / 3, 8: 1 / 3, 0: 1 / 3}, {5: 1 / 9, 6: 2 / 9, 7: 3 / 9, 8: 2 / 9, 0: 1 / 9}),
        (9, 3, 8, {8: 1 / 3, 0: 1 / 3, 1: 1 / 3}, {6: 1 / 9, 7: 2 / 9, 8: 3 / 9, 0: 2 / 9, 1: 1 / 9}),
        (9, 3, 0, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}, {7: 1 / 9, 8: 2 / 9, 0: 3 / 9, 1: 2 / 9, 2: 1 / 9}),
        (9, 3, 1, {1: 1 / 3, 2: 1 / 3, 3: 1 / 3}, {8: 1 / 9, 0: 2 / 9, 1: 3 / 9, 2: 2 / 9, 3: 1 / 9}),
        (4, 2, 0, {0: 1 / 2, 1: 1 / 2}, {3: 1 / 4, 0: 2 / 4, 1: 1 / 4}),  # TV-PM-3
        (4, 2, 3, {3: 1 / 2, 0: 1 / 2}, {2: 1 / 4, 3: 2 / 4, 0: 1 / 4}),
        (3, 2, 0, {0: 1 / 2, 1: 1 / 2}, {2: 1 / 4, 0: 2 / 4, 1: 1 / 4}),  # TV-PM-7, of the second process
        (3, 2, 2, {2: 1 / 2, 0: 1 / 2}, {1: 1 / 4, 2: 2 / 4, 0: 1 / 4}),
        # Small batches where windows collide: shares of an image that is taken twice add up.
        (3, 3, 0, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}),  # TV-PM-1, scatter-add
        (4, 3, 0, {0: 1 / 3, 1: 1 / 3, 2: 1 / 3}, {0: 3 / 9, 1: 2 / 9, 2: 2 / 9, 3: 2 / 9}),  # TV-PM-5, B >= M
        (3, 4, 0, {0: 0.5, 1: 0.25, 2: 0.25}, {0: 0.4, 1: 0.3, 2: 0.3}),  # TV-PM-4 by the overlap of merged shares
        (2, 3, 0, {0: 2 / 3, 1: 1 / 3}, {0: 0.6, 1: 0.4}),  # TV-PM-5
    ],
)
def test_targets(batch: int, num_mix: int, mixture: int, of_views: dict, of_mixtures: dict) -> None:
    """Each case is a row of the mix-to-origin and of the mix-to-mix target, on the first and on the second process."""
    mix, views = patchmix_composition(batch, num_mix), Composition.identity(batch)
    for start in (0, batch):
        for keys, expected in ((views, of_views), (mix, of_mixtures)):
            target = mix.shifted(start).target(keys.shifted(start), start).dense(start + batch)
            row = [0.0] * start + [expected.get(column, 0.0) for column in range(batch)]
            assert target[mixture].tolist() == pytest.approx(row)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_mixer_agrees_with_a_triple_loop(data):
    batch, num_mix, patch = data.draw(st.integers(1, 6)), data.draw(st.integers(1, 5)), data.draw(st.integers(1, 4))
    rows, columns = data.draw(st.integers(1, 5)), data.draw(st.integers(2, 5))
    num_mix = min(num_mix, rows * columns)
    seed = data.draw(st.integers(0, 1000))
    images = torch.randn(batch, 3, rows * patch, columns * patch)
    mixer = PatchMix(num_mix, patch)
    rng = torch.Generator().manual_seed(seed)
    mixed, composition = mixer(images, rng)

    rng = torch.Generator().manual_seed(seed)
    mixer.plan(batch, rng)
    permutation = torch.randperm(rows * columns, generator=rng).tolist()
    size = rows * columns // num_mix
    for image in range(batch):
        for position in range(rows * columns):
            rank = sorted(range(rows * columns), key=lambda t: permutation[t])[position]  # argsort
            source = (image + (rank // size if rank < num_mix * size else 0)) % batch
            y, x = position // columns * patch, position % columns * patch
            expected = images[source, :, y : y + patch, x : x + patch]
            assert torch.equal(mixed[image, :, y : y + patch, x : x + patch], expected)
    assert composition.sources.tolist() == [[(i + m) % batch for m in range(num_mix)] for i in range(batch)]
    torch.testing.assert_close(composition.weights.sum(1), torch.ones(batch))


def test_groups_are_complementary_and_leftovers_stay():
    groups = patch_groups(torch.randperm(196), 3)
    assert groups.bincount().tolist() == [66, 65, 65]
    assert patch_groups(torch.randperm(49), 2).bincount().tolist() == [25, 24]


def test_plan_draws_the_number_and_the_decision_once():
    mixer = PatchMix(num_mix=(2, 4), patch_size=2, probability=0.5)
    drawn = [mixer.plan(8).num_mix for _ in range(400)]
    assert set(drawn) == {1, 2, 4}
    assert 0.4 < drawn.count(1) / 400 < 0.6
    images = torch.randn(8, 3, 8, 8)
    plan = PatchMix((2, 4), 2).plan(8)
    assert {mixer.place(images, plan)[1].sources.shape[1] for _ in range(5)} == {plan.num_mix}
