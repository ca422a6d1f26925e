"""Mixing plans and swapped views of a step."""

import pytest
import torch
from torch import Tensor

from mixcl.algorithms import StepKey, StreamRecipe
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
