"""Precise statistics are averages over batches, also of loaders that a batch sampler feeds."""

from types import SimpleNamespace

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, SequentialSampler

from mixcl.registry import HOOKS


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm1d(2)

    def data_preprocessor(self, data, training):
        return dict(inputs=data)

    def forward(self, inputs):
        return self.norm(inputs)


def test_running_statistics_become_the_mean_of_the_batches():
    values = torch.randn(12, 2) * 3 + 1
    loader = DataLoader(values, batch_sampler=BatchSampler(SequentialSampler(values), 4, drop_last=True))
    assert loader.batch_size is None
    model = Model()
    hook = HOOKS.build(dict(type='mixcl.PreciseBatchNormHook', num_samples=8))
    hook._perform_precise_bn(
        SimpleNamespace(model=model, train_loop=SimpleNamespace(dataloader=loader), logger='silent')
    )
    batches = values[:8].reshape(2, 4, 2)
    torch.testing.assert_close(model.norm.running_mean, batches.mean(1).mean(0))
    torch.testing.assert_close(model.norm.running_var, batches.var(1).mean(0))
    assert model.norm.momentum == 0.1
