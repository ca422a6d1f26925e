"""Precise statistics are averages over batches as in training, even for loaders that a batch sampler feeds."""

from types import SimpleNamespace
from unittest.mock import Mock

import torch
from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop
from torch import nn
from torch.utils.data import BatchSampler, DataLoader

from mixcl.datasets import KeyedSampler
from mixcl.registry import HOOKS


class Model(nn.Module):
    """A model whose norm sees other inputs without ``mode='loss'`` than in training, like mmdet's heads."""

    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def data_preprocessor(self, data, training):
        assert training
        return dict(inputs=data)

    def forward(self, inputs, mode='tensor'):
        return self.norm(inputs if mode == 'loss' else inputs + 100)


VALUES = torch.randn(12, 2, generator=torch.Generator().manual_seed(0)) * 3 + 1


class Images:
    def __len__(self):
        return len(VALUES)

    def __getitem__(self, key):
        return VALUES[key.index]


def runner_at(loop, **progress):
    sampler = KeyedSampler(Images(), seed=0, shuffle=False)
    loader = DataLoader(Images(), batch_sampler=BatchSampler(sampler, 4, drop_last=True))
    assert loader.batch_size is None
    return SimpleNamespace(
        model=Model(), train_dataloader=loader, train_loop=loop, world_size=1, seed=0, logger='silent', **progress
    )


def hook(num_samples=8):
    return HOOKS.build(dict(type='mixcl.PreciseBatchNormHook', num_samples=num_samples))


def test_running_statistics_become_the_mean_of_the_first_batches_also_of_a_resumed_run():
    """The loader is left alone, since its workers may hold batches to train on."""
    runner = runner_at(Mock(spec=IterBasedTrainLoop, val_interval=5), iter=4, max_iters=7)
    sampler, remaining = runner.train_dataloader.batch_sampler.sampler, iter(runner.train_dataloader)
    sampler.start = 8  # where the run was stopped
    hook().after_train_iter(runner)
    batches, norm = VALUES[:8].reshape(2, 4, 2), runner.model.norm
    torch.testing.assert_close(norm.running_mean, batches.mean(1).mean(0))
    torch.testing.assert_close(norm.running_var, batches.var(1).mean(0))
    assert norm.momentum == 0.1 and sampler.start == 8 and torch.equal(next(remaining), VALUES[8:])


def test_they_are_taken_before_each_validation_and_at_the_end():
    def taken(loop, **progress):
        runner = runner_at(Mock(spec=loop, val_interval=3), **progress)
        hook().after_train_iter(runner)
        hook().after_train_epoch(runner)
        return bool(runner.model.norm.running_mean.any())

    assert [step + 1 for step in range(7) if taken(IterBasedTrainLoop, iter=step, max_iters=7)] == [3, 6, 7]
    assert [epoch + 1 for epoch in range(5) if taken(EpochBasedTrainLoop, epoch=epoch, max_epochs=5, iter=9)] == [3, 5]
