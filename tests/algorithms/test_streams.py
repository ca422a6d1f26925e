"""Mixing plans and swapped views of a step."""

import dataclasses

import pytest
import torch
from torch import Tensor

from mixcl.algorithms import StepKey, StreamRecipe
from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.registry import MIXERS

BATCH = 6
VIEWS = dict(view1=1, view2=1)
MIXED = dict(mix1=dict(mix='view1'), mix2=dict(mix='view2'))


def recipe(**settings: object) -> StreamRecipe:
    return StreamRecipe(VIEWS, MIXED, MIXERS.build(dict(type='Mixup', pairing='permutation')), **settings)


def crops() -> list[Tensor]:
    """Return a view 1 whose pixels are all positive, and a view 2 whose pixels are all negative."""
    return [torch.rand(BATCH, 3, 4, 4) + 0.1, -torch.rand(BATCH, 3, 4, 4) - 0.1]


@pytest.mark.parametrize('shared', [True, False])
def test_streams_share_one_plan_or_have_one_each_whichever_others_a_step_needs(shared: bool) -> None:
    views, key, made = crops(), StepKey(0, 5, 0), recipe(shared_plan=shared)
    streams = made.build(views, {'view1', 'mix1', 'mix2'}, key)
    first, second = (streams[name].composition for name in MIXED)
    assert torch.equal(first.weights, second.weights) == torch.equal(first.sources, second.sources) == shared
    assert torch.equal(streams['mix2'].images, made.build(views, {'mix2'}, key)['mix2'].images)


def test_mixing_is_a_function_of_seed_step_and_rank() -> None:
    views = crops()

    def mixed(*key: int) -> Tensor:
        return recipe().build(views, {'mix1'}, StepKey(*key))['mix1'].images

    torch.manual_seed(1)
    first = mixed(0, 5, 0)
    torch.manual_seed(2)
    assert torch.equal(first, mixed(0, 5, 0))
    assert not any(torch.equal(first, mixed(*key)) for key in [(1, 5, 0), (0, 6, 0), (0, 5, 1)])


def swapped(made: StreamRecipe, step: int, rank: int = 0) -> bool:
    streams = made.build(crops(), {'view1', 'view2', 'mix1'}, StepKey(0, step, rank))
    signs = [streams[name].images.sign().unique().tolist() for name in ('view1', 'view2', 'mix1')]
    assert signs in ([[1], [-1], [1]], [[-1], [1], [-1]]), 'a mixture follows its view'
    return signs[0] == [-1]


def test_one_coin_swaps_the_views_of_all_processes() -> None:
    made = recipe(swap_views=0.5)
    coins = [swapped(made, step) for step in range(200)]
    assert 70 < sum(coins) < 130
    assert coins[:50] == [swapped(made, step, rank=3) for step in range(50)]
    for never_or_always in (0.0, 1.0):
        assert {swapped(recipe(swap_views=never_or_always), step) for step in range(30)} == {bool(never_or_always)}


def test_half_batches_are_rows_of_global_images() -> None:
    made = StreamRecipe(VIEWS, MIXED, MIXERS.build(dict(type='Mixup', pairing='halves')))
    stream = made.build([crop[:5] for crop in crops()], {'mix1'}, StepKey(0, 0, rank=2))['mix1']
    assert stream.composition.sources.tolist() == [[10, 12], [11, 13]] and len(stream.images) == 2


def number_of(images: Tensor) -> Tensor:
    """Return the number that each pixel shows."""
    return images[:, 0].round().long()


def test_streams_have_mixers_of_their_own() -> None:
    streams = dict(
        mix1=dict(mix='view1'),
        cut1=dict(mix='view1', mixer=dict(type='CutMix', pairing='permutation')),
        cut2=dict(mix='view2', mixer=dict(type='CutMix', pairing='permutation')),
        patches=dict(mix='view2', mixer=dict(type='PatchMix', num_mix=3, patch_size=1)),
    )
    mixup = MIXERS.build(dict(type='Mixup', pairing='permutation'))
    views, key, names = crops(), StepKey(0, 6, 1), {'mix1', 'cut1', 'cut2', 'patches'}
    made = StreamRecipe(VIEWS, streams, mixup)
    assert [type(mixer).__name__ for mixer in made.mixers] == ['Mixup', 'CutMix', 'PatchMix']
    built = made.build(views, names, key)
    alone = StreamRecipe(VIEWS, dict(mix1=streams['mix1']), mixup).build(views, names, key)
    assert torch.equal(built['mix1'].images, alone['mix1'].images), 'other streams change no draw'
    owners, partners = built['cut1'].composition.sources.unbind(1)
    assert torch.equal(built['cut2'].composition.sources, torch.stack([owners, partners], 1)), (
        'equal mixers share a plan'
    )
    assert not torch.equal(built['mix1'].composition.sources[:, 1], partners)
    assert built['patches'].composition.sources.shape == (BATCH, 3)
    apart = StreamRecipe(VIEWS, streams, mixup, shared_plan=False).build(views, names, key)
    assert not torch.equal(apart['cut1'].composition.sources, apart['cut2'].composition.sources)


REGION = dict(type='RegionSwap', cell=1, cells=(1, 2))
OF_PAIRS = [
    *(dict(type='CutMix', pairing=pairing) for pairing in ('same', 'flip', 'permutation')),
    REGION,
    dict(type='Choice', mixers=[dict(type='CutMix', pairing='derangement'), REGION]),
]


@pytest.mark.parametrize('mixer', OF_PAIRS, ids=lambda mixer: mixer.get('pairing', mixer['type']))
def test_a_stream_of_two_views_shows_owners_of_one_and_partners_of_the_other(mixer: dict) -> None:
    batch, start = 5, 10
    number = torch.arange(float(batch))[:, None, None, None].expand(batch, 3, 8, 8)
    made = StreamRecipe(VIEWS, dict(mix1=dict(mix=('view1', 'view2'))), MIXERS.build(mixer))
    made.check([number[0], number[0]], batch, {'mix1'})
    stream = made.build([number, number + 100], {'mix1'}, StepKey(0, 3, rank=2))['mix1']
    composition, seen = stream.composition, number_of(stream.images)
    for row, (owner, partner) in enumerate(composition.sources.tolist()):
        share, inside = composition.weights[row], composition.shown[row].bool()
        assert owner == start + row
        assert set(seen[row][~inside].tolist()) <= {owner - start}
        assert set(seen[row][inside].tolist()) <= {partner - start + 100}
        torch.testing.assert_close(share, torch.stack([~inside, inside]).float().mean((1, 2)))
    views = Composition.identity(batch, start)
    expected = composition.overlap(views)
    torch.testing.assert_close(composition.target(views).dense(batch), expected)
    counted = dataclasses.replace(composition, reach=None)
    torch.testing.assert_close(views.target(composition).dense(batch), views.target(counted).dense(batch))


def test_views_of_two_sizes_are_not_mixed() -> None:
    made = StreamRecipe(VIEWS, dict(mix1=dict(mix=('view1', 'view2'))), MIXERS.build(dict(type='Mixup')))
    with pytest.raises(
        UserError, match=r'mixes view1 and view2, whose crops have different sizes, \[\(4, 4\), \(8, 8\)\]'
    ):
        made.check([torch.zeros(3, 4, 4), torch.zeros(3, 8, 8)], BATCH, {'mix1'})
