"""What the benchmark of patch sampling claims, on fewer images."""

import pytest

from tools.benchmark.patch_overlap import POWER, RATIO, mean_covered_share, sampler

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
