"""The vectors TV-PM-* are worked examples of PatchMix's operator and targets."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers.patchmix import PatchMix, patch_groups, patchmix_composition


def groups_to_sources(permutation: list[int], num_mix: int, batch: int) -> list[list[int]]:
    groups = patch_groups(torch.tensor(permutation), num_mix)
    return [((i + groups) % batch).tolist() for i in range(batch)]


def test_patch_map():
    """TV-PM-6, with and without a left-over patch."""
    assert groups_to_sources([2, 0, 5, 1, 4, 3], 3, 3) == [
        [0, 1, 0, 2, 2, 1],
        [1, 2, 1, 0, 0, 2],
        [2, 0, 2, 1, 1, 0],
    ]
    assert groups_to_sources([2, 0, 5, 1, 6, 4, 3], 3, 3)[0] == [0, 1, 0, 0, 2, 1, 2]


def dense(query: Composition, key: Composition) -> torch.Tensor:
    return query.target(key).dense(len(key))


def row(values: dict[int, float], size: int) -> torch.Tensor:
    return torch.tensor([values.get(column, 0.0) for column in range(size)])


def test_targets_of_nine_images():
    """TV-PM-2 (Fig. 7): mix-to-origin rows (i, i+1, i+2); mix-to-mix band 1, 2, 3, 2, 1 over 9."""
    mix, views = patchmix_composition(9, 3), Composition.identity(9)
    mto, mtm = dense(mix, views), dense(mix, mix)
    torch.testing.assert_close(mto[7], row({7: 1 / 3, 8: 1 / 3, 0: 1 / 3}, 9))
    torch.testing.assert_close(mto[8], row({8: 1 / 3, 0: 1 / 3, 1: 1 / 3}, 9))
    for i, columns in [(0, [7, 8, 0, 1, 2]), (1, [8, 0, 1, 2, 3]), (8, [6, 7, 8, 0, 1])]:
        band = dict(zip(columns, [1 / 9, 2 / 9, 3 / 9, 2 / 9, 1 / 9], strict=True))
        torch.testing.assert_close(mtm[i], row(band, 9))


def test_targets_of_two_mixed():
    """TV-PM-3."""
    mix = patchmix_composition(4, 2)
    assert mix.sources.tolist() == [[0, 1], [1, 2], [2, 3], [3, 0]]
    torch.testing.assert_close(dense(mix, mix)[0], row({3: 0.25, 0: 0.5, 1: 0.25}, 4))
    torch.testing.assert_close(dense(mix, mix)[3], row({2: 0.25, 3: 0.5, 0: 0.25}, 4))


@pytest.mark.parametrize(
    ('batch', 'num_mix', 'of_views', 'of_mixtures'),
    [
        (3, 3, [1 / 3, 1 / 3, 1 / 3], [1 / 3, 1 / 3, 1 / 3]),  # TV-PM-1, scatter-add
        (4, 3, [1 / 3, 1 / 3, 1 / 3, 0], [1 / 3, 2 / 9, 2 / 9, 2 / 9]),  # TV-PM-5: a collision with B >= M
        (3, 4, [0.5, 0.25, 0.25], [0.4, 0.3, 0.3]),  # TV-PM-4 by the overlap of merged shares
        (2, 3, [2 / 3, 1 / 3], [0.6, 0.4]),  # TV-PM-5
    ],
)
def test_small_batches_where_windows_collide(batch, num_mix, of_views, of_mixtures):
    """Shares of an image that is taken twice add up."""
    mix = patchmix_composition(batch, num_mix)
    torch.testing.assert_close(dense(mix, Composition.identity(batch))[0], torch.tensor(of_views))
    torch.testing.assert_close(dense(mix, mix)[0], torch.tensor(of_mixtures))


def test_rank_offset():
    """TV-PM-7: the second process of two with three images each."""
    mix, views = patchmix_composition(3, 2).shifted(3), Composition.identity(3, start=3)
    assert mix.sources.tolist() == [[3, 4], [4, 5], [5, 3]]
    target = mix.target(mix, start=3).dense(6)
    torch.testing.assert_close(target[0], row({5: 0.25, 3: 0.5, 4: 0.25}, 6))
    torch.testing.assert_close(mix.target(views, start=3).dense(6)[2], row({5: 0.5, 3: 0.5}, 6))


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


@pytest.mark.parametrize(
    ('arguments', 'batch', 'size', 'message'),
    [
        (dict(num_mix=3, patch_size=5), 8, (16, 15), 'cannot be cut into patches of 5x5'),
        (dict(num_mix=5, patch_size=8), 8, (16, 16), 'num_mix=5 images do not fit into the 2x2 patches'),
        (dict(num_mix=4, patch_size=4), 3, (16, 16), 'cannot be mixed from the 3 images'),
    ],
)
def test_what_cannot_be_mixed_is_refused_beforehand(arguments, batch, size, message):
    with pytest.raises(UserError, match=message):
        PatchMix(**arguments).check(batch, *size)
    with pytest.raises(UserError, match='cannot be cut'):
        PatchMix(2, 4)(torch.zeros(4, 3, 15, 16))


@pytest.mark.parametrize(
    'arguments', [dict(num_mix=0), dict(num_mix=2.5), dict(patch_size=0), dict(probability=1.5), dict(num_mix=())]
)
def test_bad_arguments_are_refused(arguments):
    with pytest.raises((UserError, TypeError)):
        PatchMix(**arguments)
