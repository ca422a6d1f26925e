"""Stateless randomness: every random draw is a function of a key, never of what was drawn before.

A key is a tuple such as ``(seed, epoch, image index, view)`` or ``(seed, step, rank, stream)``. Two runs that reach
the same key draw the same numbers, whatever the number of workers and whether or not they were resumed.
"""

import hashlib
import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import numpy as np
import torch


class StepKey(NamedTuple):
    """The key of all random numbers of one training step on one process."""

    seed: int
    step: int
    rank: int


def seed_of(*key: int | str) -> int:
    """Return the seed of a key, in [0, 2**63).

    The digest is fixed (BLAKE2b), unlike Python's ``hash``, which is salted per process.

    Raises:
        TypeError: if a part of the key is neither an integer nor a string.
    """
    for part in key:
        if isinstance(part, bool) or not isinstance(part, (int, str, np.integer)):
            raise TypeError(f'a random key is made of integers and strings, not {part!r} in {key!r}')
    text = '\x1f'.join(f's{len(part)}:{part}' if isinstance(part, str) else f'i{int(part)}' for part in key)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), 'little') >> 1


def generator(*key: int | str) -> torch.Generator:
    """Return a CPU generator seeded from the key."""
    return torch.Generator().manual_seed(seed_of(*key))


def seed_global_generators(*key: int | str) -> None:
    """Seed the global generators of python, numpy, torch and CUDA, from which transforms and drop path draw."""
    seed = seed_of(*key)
    random.seed(seed)
    np.random.seed(seed & 0xFFFFFFFF)
    torch.default_generator.manual_seed(seed)
    # torch.manual_seed seeds both, but takes 40 microseconds where CUDA is not in use, several times per image.
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(seed)


@contextmanager
def undisturbed_generators() -> Iterator[None]:
    """Restore the global generators of python, numpy and torch's CPU after a ``with`` block."""
    states = random.getstate(), np.random.get_state(), torch.get_rng_state()
    try:
        yield
    finally:
        random.setstate(states[0])
        np.random.set_state(states[1])
        torch.set_rng_state(states[2])
