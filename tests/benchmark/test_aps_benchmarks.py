"""What the two benchmarks of patch sampling claim, on fewer images."""

import pytest
import torch
from torch.optim import AdamW

from tools.benchmark.patch_overlap import POWER, RATIO, mean_covered_share, sampler
from tools.benchmark.token_dropping import activation_bytes, learner, samples

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
def test_a_quarter_of_the_patches_needs_at_most_two_fifths_of_the_memory() -> None:
    model = learner(64, 1)
    optimizer = AdamW(model.parameters())
    views = [torch.randn(2, 3, 32, 32) for _ in range(2)]
    quarter, whole = (activation_bytes(model, optimizer, views, samples(2, ratio, 'cpu')) for ratio in (0.25, 1.0))
    # every block keeps at least its input, its hidden layer and query, key and value: 9 floats per channel and token
    assert whole > 12 * 9 * 64 * 257 * 4 * 4
    assert quarter < 0.4 * whole
