"""When a method is better than another, against a t-test and the variance of a mean."""

import json

import numpy as np
import pytest
from scipy import stats

from mixcl.evaluation.functional.paired_difference import difference, packed, unpacked


def test_the_interval_is_that_of_seeds_and_of_images_and_draws() -> None:
    def right(share: float, seed: int, draws: int, images: int) -> np.ndarray:
        return np.random.default_rng(seed).random((draws, images)) < share

    nothing = np.zeros((1, 100), bool)
    seeds = [np.ones((1, 100), bool) * (np.arange(100) < 0) for _ in range(3)]
    assert difference(seeds, [nothing] * 3)[:3] == (0, 0, 0)
    # All images alike: the interval of a t-test of the seeds.
    gain = difference([np.ones((1, 100), bool), nothing, nothing], [nothing] * 3)
    low, high = stats.t.interval(0.95, 2, loc=100 / 3, scale=stats.sem([100, 0, 0]))
    assert gain.low == pytest.approx(low) and gain.high == pytest.approx(high) and gain.verdict == 'not told apart'
    # All seeds alike: the variance of a mean over images.
    one = right(0.7, 5, 1, 4000)
    gain = difference([one] * 2, [np.zeros((1, 4000), bool)] * 2)
    expected = stats.t.ppf(0.975, 1) * 100 * one.std() / 4000**0.5
    assert gain.high - gain.mean == pytest.approx(expected, rel=0.06) and gain.verdict == 'better'
    assert difference([one], [one]).verdict == 'one seed'


def test_answers_are_stored_bit_by_bit() -> None:
    right = np.random.default_rng(0).random((40, 361)) < 0.8
    assert np.array_equal(unpacked(json.loads(json.dumps(packed(right)))), right)
