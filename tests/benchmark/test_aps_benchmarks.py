"""What the benchmark of dropped patches claims, on a smaller model."""

import pytest
import torch

from mixcl.apis.complexity import SyntheticIteration, activation_bytes
from mixcl.engine.runners.launch import read_config
from tools.benchmark.token_dropping import GOALS, TABLE, with_share


@pytest.mark.skipif(torch.cuda.is_available(), reason='counts what is saved on a CPU')
@pytest.mark.parametrize('config', ['configs/aps/vit-t2_cifar10.py', 'configs/mocov3/vit-s16_in1k.py'])
def test_patches_that_are_dropped_need_no_memory(config: str) -> None:
    share, saved = TABLE[config], []
    for kept in (share, 1.0):
        cfg = with_share(read_config(config), kept)
        cfg.model.backbone.arch.update(embed_dims=64, num_heads=1, num_layers=1, feedforward_channels=256)
        for part in ('neck', 'predictor'):
            if cfg.model.get(part):
                cfg.model[part].update(in_channels=64, hidden_channels=64, out_channels=64, num_layers=2)
        iteration = SyntheticIteration(cfg, 4)
        saved.append(activation_bytes(iteration.model, iteration.run))
    # a block keeps at least its input, its hidden layer and query, key and value, of both streams
    patches = 256 if 'cifar' in config else 196
    assert saved[1] > 9 * 64 * (patches + 1) * 4 * 8  # bytes, rows
    assert saved[0] < GOALS[share][1] * saved[1]
