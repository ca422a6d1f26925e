"""When one method is better than another: accuracies paired by seed, with an interval over seeds, images and draws."""

import base64
import zlib
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

RESAMPLES = 2000


class Difference(NamedTuple):
    """Percentage points by which a method leads another: mean, 95 % interval (NaN for one seed), and by seed."""

    mean: float
    low: float
    high: float
    by_seed: tuple[float, ...]

    @property
    def verdict(self) -> str:
        """'better' or 'worse' if the interval excludes 0, else 'not told apart'; of one seed, 'one seed'."""
        if len(self.by_seed) < 2:
            return 'one seed'
        return 'better' if self.low > 0 else 'worse' if self.high < 0 else 'not told apart'

    def __str__(self) -> str:
        interval = f' [{self.low:+.1f}, {self.high:+.1f}]' if len(self.by_seed) > 1 else ''
        return f'{self.mean:+.1f}{interval} {self.verdict}'


def difference(method: Sequence[np.ndarray], host: Sequence[np.ndarray]) -> Difference:
    """Compare two methods by how correctly they classified each image with the same seeds, in order.

    The variance of the mean difference is the sum of that of seeds, s^2 / n, and that of the choice of test images and
    draws, by resampling both. The interval is that of Student's t with n - 1 degrees of freedom. If methods differ in
    the number of draws, the first ones count.

    Args:
        method, host: (draws, images) in [0, 1] for each seed; (1, 1) if only an accuracy is known.
    """
    from scipy.stats import t  # importing it takes a second

    pairs = list(zip(method, host, strict=True))
    draws = min(len(rows) for pair in pairs for rows in pair)
    apart = np.stack([100 * (one[:draws].astype(float) - other[:draws]) for one, other in pairs])
    by_seed = apart.mean(axis=(1, 2))
    mean, half = float(by_seed.mean()), float('nan')
    if len(by_seed) > 1:
        variance = by_seed.var(ddof=1) / len(by_seed) + _resampled(apart.mean(axis=0)).var(ddof=1)
        half = float(t.ppf(0.975, len(by_seed) - 1) * variance**0.5)
    return Difference(mean, mean - half, mean + half, tuple(map(float, by_seed)))


def _resampled(apart: np.ndarray) -> np.ndarray:
    """Return means (resamples,) of (draws, images), both drawn with replacement."""
    random = np.random.default_rng(0)
    draws, images = apart.shape
    of_draws = random.multinomial(draws, np.full(draws, 1 / draws), RESAMPLES) / draws
    of_images = random.multinomial(images, np.full(images, 1 / images), RESAMPLES) / images
    return ((of_draws @ apart) * of_images).sum(axis=1)


def packed(right: np.ndarray) -> list:
    """Pack (draws, images) bool: numbers of images and draws, and bits as text, by image, since its draws are alike."""
    return [*right.T.shape, base64.b85encode(zlib.compress(np.packbits(right.T).tobytes(), 9)).decode()]


def unpacked(stored: Sequence) -> np.ndarray:
    """Restore what :func:`packed` stored; raises ValueError, TypeError or zlib.error for anything else."""
    images, draws, text = stored
    bits = np.unpackbits(np.frombuffer(zlib.decompress(base64.b85decode(text)), np.uint8), count=images * draws)
    return bits.reshape(images, draws).T.astype(bool)
