"""Measured costs equal counts by hand."""

import itertools

import pytest
import torch
from engine.tiny_runs import run_config
from torch import nn

from mixcl.apis.complexity import MEMORY, SECONDS, SyntheticIteration, activation_bytes, count_flops, measure
from mixcl.errors import UserError

NECK, PREDICTOR = [16, 24, 24, 12], [12, 24, 12]


def products(widths: list[int]) -> int:
    return sum(before * after for before, after in itertools.pairwise(widths))


def flops_by_hand(batch: int, with_gradient: int, without: int, terms: int, kept: int = 16) -> int:
    """Count all FLOPs. A backward pass through a product is two products; the last block outputs one token."""
    tokens, width, hidden, depth = kept + 1, 16, 32, 2
    embed = 16 * 2 * 2 * 3 * width
    outputs = (depth - 1) * tokens + 1
    blocks = depth * tokens * 3 * width * width + outputs * (width * width + 2 * width * hidden)
    attention = outputs * 2 * tokens * width
    passes = 3 * with_gradient + without
    layers = passes * (blocks + products(NECK)) + 3 * with_gradient * products(PREDICTOR)
    layers += (2 * with_gradient + without) * embed  # images need no gradient
    losses = terms * 2 * batch * NECK[-1]  # keys need no gradient
    return 2 * batch * (layers + losses + passes * attention)


def tiny(tmp_path, batch: int = 4, **overrides: object) -> SyntheticIteration:
    return SyntheticIteration(run_config(tmp_path, **overrides), batch)


@pytest.mark.parametrize(('batch', 'target', 'without'), [(4, 'EMA', 3), (8, 'StopGrad', 2)])
def test_flops_of_a_tiny_vision_transformer(tmp_path, batch: int, target: str, without: int) -> None:
    iteration = tiny(tmp_path, batch, model__target=dict(_delete_=True, type=target))
    assert iteration.model.passes_per_image() == (2, without)
    assert count_flops(iteration.run) == flops_by_hand(batch, 2, without, terms=3)


def test_flops_of_queries_without_half_of_their_patches(tmp_path) -> None:
    streams = dict(view1=dict(keep=0.5), mix2=dict(mix='view2', keep=0.5))
    iteration = tiny(tmp_path, model__streams=streams | dict(mix1=dict(mix='view1')))
    queries, keys = flops_by_hand(4, 2, 0, terms=3, kept=8), flops_by_hand(4, 0, 3, terms=0)
    assert count_flops(iteration.run) == queries + keys


def test_parameters(tmp_path) -> None:
    cost = measure(tiny(tmp_path), 1)
    block = 4 * 16 * 16 + 4 * 16 + 2 * 16 * 32 + 32 + 16 + 4 * 16  # attention, its biases, feed-forward, two norms
    backbone = 2 * block + (2 * 2 * 3 * 16 + 16) + 16 + 17 * 16 + 2 * 16  # patches, class token, positions, norm
    heads = products(NECK) + products(PREDICTOR) + 2 * (24 + 24 + 24)  # batch norm of hidden layers
    assert cost['parameters of the backbone (M)'] == backbone / 1e6
    assert cost['parameters trained (M)'] == (backbone + heads) / 1e6
    assert cost[SECONDS] > 0 and cost['activations (GiB)'] > 0 and MEMORY not in cost


def test_activations_of_two_layers() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    images = torch.randn(5, 8)
    # the input of each linear layer (the second is also what ReLU keeps), without weights
    assert activation_bytes(model, lambda: model(images).sum().backward()) == 5 * (8 + 32) * 4


def test_what_cannot_be_measured(tmp_path) -> None:
    with pytest.raises(UserError, match='measures pretraining configs'):
        tiny(tmp_path, train_cfg__type='KeyedTrainLoop')
