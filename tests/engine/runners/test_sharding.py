"""Sharded training (FSDP) is replicated training (DDP), in pieces."""

import functools
from types import SimpleNamespace

import pytest
import tiny
import torch
from engine.engine_pairs import MODELS, OPTIMIZERS
from torch import nn

from mixcl.engine.hooks.gradient_clip import AdaptiveClipHook
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel, blocks_of
from mixcl.errors import UserError

close = functools.partial(torch.testing.assert_close, rtol=1e-9, atol=1e-9)
RUNS = list(dict.fromkeys([(model, 'SGD') for model in MODELS] + [('PatchMix', name) for name in OPTIMIZERS]))


@pytest.mark.parametrize('run', RUNS, ids=' '.join)
def test_losses_weights_targets_queues_and_features_agree(pair: list[dict], run: tuple[str, str]) -> None:
    for found in pair:
        sharded, replicated = (found['sharding'][(*run, kind)] for kind in ('sharded', 'replicated'))
        close(sharded['losses'], replicated['losses'])
        close(sharded['state'], replicated['state'])
        close(sharded['features'], replicated['features'])


@pytest.mark.parametrize('model', MODELS)
def test_each_process_holds_about_half(pair: list[dict], model: str) -> None:
    shares = [found['sharding'][(model, 'SGD', 'sharded')]['share'] for found in pair]
    assert sum(shares) == pytest.approx(1)
    assert all(0.4 < share < 0.6 for share in shares)
    assert pair[0]['sharding'][(model, 'SGD', 'replicated')]['share'] == 1


def test_a_step_moves_the_weights_and_the_target_follows(pair: list[dict]) -> None:
    """Or the agreement would say nothing."""
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
    with pytest.raises(UserError, match='shards models of pretraining, not a Linear'):
        MMFullyShardedDataParallel(nn.Linear(2, 2))


def test_running_means_of_whole_gradients_are_refused() -> None:
    sharded = object.__new__(MMFullyShardedDataParallel)
    with pytest.raises(UserError, match='AdaptiveClipHook keeps whole gradients'):
        AdaptiveClipHook().before_train(SimpleNamespace(model=sharded))
