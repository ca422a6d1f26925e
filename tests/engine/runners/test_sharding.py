"""Sharded training (FSDP) computes the same as replicated training (DDP)."""

import functools

import pytest
import tiny
import torch
from engine.engine_pairs import RUNS
from torch import nn

from mixcl.engine.runners.sharding import MMFullyShardedDataParallel, blocks_of
from mixcl.errors import UserError

close = functools.partial(torch.testing.assert_close, rtol=1e-9, atol=1e-9)


def test_sharded_and_replicated_training_agree(pair: list[dict]) -> None:
    """Losses, weights, targets, queues and features of every run agree; each process holds about half the weights."""
    both = [found['sharding'] for found in pair]
    for run in RUNS:
        for found in both:
            sharded, replicated = (found[(*run, kind)] for kind in ('sharded', 'replicated'))
            for name in ('losses', 'state', 'features'):
                close(sharded[name], replicated[name], msg=lambda text, run=run, name=name: f'{run}, {name}: {text}')
            assert 0.4 < sharded['share'] < 0.6 and replicated['share'] == 1
        assert sum(found[(*run, 'sharded')]['share'] for found in both) == pytest.approx(1)


def test_a_step_moves_the_weights_and_the_target_follows(pair: list[dict]) -> None:
    """Otherwise the agreement would prove nothing."""
    once, thrice = (pair[0]['sharding'][('PatchMix', name, 'sharded')]['state'] for name in ('accumulated', 'SGD'))
    moved = [name for name in once if once[name].is_floating_point() and not torch.equal(once[name], thrice[name])]
    assert any(name.startswith('backbone.layers') for name in moved)
    assert any(name.startswith('target.backbone.layers') for name in moved)


def test_blocks() -> None:
    learner = tiny.build()
    assert list(blocks_of(learner.backbone)) == list(learner.backbone.layers)
    nested = nn.ModuleDict(dict(stage=nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Sequential(nn.Linear(2, 2)))))
    assert list(blocks_of(nested)) == [nested['stage'][0], nested['stage'][2]]


def test_models_of_other_tasks_are_refused() -> None:
    with pytest.raises(UserError, match='shards a ContrastiveLearner, not a Linear'):
        MMFullyShardedDataParallel(nn.Linear(2, 2))
