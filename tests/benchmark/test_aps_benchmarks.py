"""What the two benchmarks of patch sampling claim, on fewer images."""

import pytest
import torch

from mixcl.apis.complexity import SyntheticIteration, activation_bytes
from mixcl.engine.runners.launch import read_config
from tools.benchmark.patch_overlap import POWER, RATIO, mean_covered_share, sampler
from tools.benchmark.token_dropping import GOALS, TABLE, with_share

IMAGES = 400


def test_sampled_pairs_overlap_less_than_the_formula_and_uniform_ones_unless_flips_are_ignored() -> None:
    aware = mean_covered_share(sampler(POWER, 0.5, True), IMAGES)
    uniform = mean_covered_share(sampler(0.0, 0.5, True), IMAGES)
    # measured with the authors' sampler on such crops, without flips
    assert aware == pytest.approx(0.040, abs=0.008)
    assert uniform == pytest.approx(0.167, abs=0.02)
    assert RATIO * aware < RATIO**2 / (POWER + 2)
    assert mean_covered_share(sampler(POWER, 1.0, True), IMAGES) == pytest.approx(aware, abs=0.01)
    assert mean_covered_share(sampler(POWER, 0.5, False), IMAGES) > 2 * aware


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
