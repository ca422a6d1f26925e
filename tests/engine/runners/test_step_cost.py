"""Counted costs equal those by hand."""

import itertools
import re

import pytest
import torch
from configuration.all_configs import CONFIGS
from engine.tiny_runs import run_config
from torch import nn

from mixcl.engine.runners.step_cost import REPORTED, activation_bytes, cost_lines, reported
from mixcl.errors import UserError

NECK, PREDICTOR = [16, 24, 24, 12], [12, 24, 12]


def products(widths: list[int]) -> int:
    return sum(before * after for before, after in itertools.pairwise(widths))


def flops_by_hand(with_gradient: int, without: int, terms: int, kept: int = 16) -> list[int]:
    """Count all FLOPs of 3 images, and those without attention.

    A backward pass through a product is two products, through attention five, as the fused kernel does its two anew;
    the last block outputs one token.
    """
    batch, tokens, width, hidden, depth = 3, kept + 1, 16, 32, 2
    embed = 16 * 2 * 2 * 3 * width
    outputs = (depth - 1) * tokens + 1
    blocks = depth * tokens * 3 * width * width + outputs * (width * width + 2 * width * hidden)
    attention = outputs * tokens * width
    passes = 3 * with_gradient + without
    layers = passes * (blocks + products(NECK)) + 3 * with_gradient * products(PREDICTOR)
    layers += (2 * with_gradient + without) * embed  # images need no gradient
    losses = terms * 2 * batch * NECK[-1]  # keys need no gradient
    inside = attention * (7 * with_gradient + 2 * without)
    return [2 * batch * (layers + losses + inside), 2 * batch * (layers + losses)]


def counted(tmp_path, **overrides: object) -> tuple[str, list[float]]:
    """Return the line on passes, and the FLOPs of a step, all and without attention."""
    lines = cost_lines(run_config(tmp_path, **overrides))
    return lines[0], [float(each) * 3e9 for each in re.findall(r'([\d.e-]+) (?:GFLOPs|without)', lines[2])]


@pytest.mark.parametrize(('target', 'without'), [('EMA', 3), ('StopGrad', 2)])
def test_flops_of_a_tiny_vision_transformer(tmp_path, target: str, without: int) -> None:
    passes, flops = counted(tmp_path, model__target=dict(_delete_=True, type=target))
    assert passes.endswith(f'2 with gradient, {without} without')
    assert flops == pytest.approx(flops_by_hand(2, without, terms=3), rel=1e-3)


def test_flops_of_queries_without_half_of_their_patches(tmp_path) -> None:
    streams = dict(view1=dict(keep=0.5), mix2=dict(mix='view2', keep=0.5))
    _, flops = counted(tmp_path, model__streams=streams | dict(mix1=dict(mix='view1')))
    both = zip(flops_by_hand(2, 0, terms=3, kept=8), flops_by_hand(0, 3, terms=0), strict=True)
    assert flops == pytest.approx([sum(each) for each in both], rel=1e-3)


def test_activations_of_two_layers() -> None:
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    images = torch.randn(5, 8)
    # the input of each linear layer (the second is also what ReLU keeps), without weights
    assert activation_bytes(model, lambda: model(images).sum().backward()) == 5 * (8 + 32) * 4


def test_every_value_of_a_paper_belongs_to_configs() -> None:
    names = {
        name.replace('cifar', f'cifar{classes}')
        for found in REPORTED.values()
        for name in found
        for classes in (10, 100)
    }
    assert names <= CONFIGS.keys() and all(map(reported, names))
    assert 'PatchMix reports 50.0 GFLOPs of two images, ' in reported('patchmix/vit-t2_cifar100')[0]
    assert reported('patchmix/vit-s16_in1k') == []


def test_what_does_not_pretrain_has_no_such_cost(tmp_path) -> None:
    with pytest.raises(UserError, match='--cost counts a step of pretraining'):
        cost_lines(run_config(tmp_path, train_cfg__type='KeyedTrainLoop'))
