"""A trial that refuses, before a run starts, mixers that would not train what their authors mean."""

import copy
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from mixcl.composition import ABSENT, Composition
from mixcl.errors import UserError, as_user_error
from mixcl.mixers.base import Mixer
from mixcl.mixers.choice import Choice
from mixcl.mixers.pair import place_views
from mixcl.randomness import undisturbed_generators

TRIAL_MIXTURES = 3
"""Number of mixtures whose row counts are compared."""


def try_mixer(mixer: Mixer, num_images: int, channels: int, height: int, width: int, views: int = 1) -> None:
    """Let a copy of a mixer mix random images on the CPU, of one view or two, and check what it returns.

    Raises:
        UserError: if mixing fails, images and composition do not fit together, or processes would have different
            numbers of mixtures.
    """
    random = torch.Generator().manual_seed(0)
    images = torch.rand(num_images, channels, height, width, generator=random)
    numbers = set()
    for part in parts_of(mixer):
        name, tried = type(part).__name__, copy.deepcopy(part)
        if isinstance(tried, nn.Module):
            tried.cpu()
        for _ in range(TRIAL_MIXTURES):
            with undisturbed_generators(), as_user_error(f'a mixture by {name}'):
                made = place_views(tried, [images] * views, tried.plan(num_images, random), random)
            for problem in problems_of(made, num_images):
                raise UserError(f'the mixer {name} {problem}')
            numbers.add(len(made[0]))
    if len(numbers) > 1:
        raise UserError(
            f'the mixer {type(mixer).__name__} makes {" or ".join(map(str, sorted(numbers)))} mixtures of {num_images} '
            'images; the number must depend on the batch size alone, since all processes need the same'
        )


def parts_of(mixer: Mixer) -> Iterator[Mixer]:
    """Yield the mixers that a :class:`Choice` chooses from, at any depth; for another mixer, the mixer itself."""
    if isinstance(mixer, Choice):
        for part in mixer.mixers:
            yield from parts_of(part)
    else:
        yield mixer


def problems_of(made: object, num_images: int) -> Iterator[str]:
    """Yield what is wrong with mixed images and their composition, as the end of a sentence; nothing if all fits."""
    if not (isinstance(made, tuple) and len(made) == 2 and isinstance(made[1], Composition)):
        yield f'returns {type(made).__name__}, but place must return mixed images and their Composition'
        return
    images, composition = made
    sources, weights, rows = composition.sources, composition.weights, len(composition)
    if not isinstance(images, Tensor) or images.ndim != 4 or not images.is_floating_point() or len(images) != rows:
        found = f'{tuple(images.shape)} of {images.dtype}' if isinstance(images, Tensor) else type(images).__name__
        yield f'returns images {found} with a Composition of {rows} rows, but place must return float ({rows}, C, H, W)'
        return
    if rows and not (sources.min() >= 0 and sources.max() < num_images):
        yield (
            f'names the sources {int(sources.min())} to {int(sources.max())}, but the images of a batch of '
            f'{num_images} are 0 to {num_images - 1}'
        )
    wrong = ~((weights >= 0).all(dim=1) & ((weights.sum(dim=1) - 1).abs() < 1e-3))  # written so that NaN is wrong
    if wrong.any():
        yield f'gives a mixture the shares {weights[wrong][0].tolist()}, but they must be at least 0 and sum to 1'
    listed = composition.merged().sources
    most = int(listed[listed != ABSENT].unique(return_counts=True)[1].max()) if rows else 0
    if composition.reach is not None and composition.reach < most:
        yield f'puts an image into {most} mixtures, but says reach={composition.reach}; raise it, or leave it out'
    shown, places = composition.shown, sources.shape[1]
    if shown is not None and (shown.ndim != 3 or len(shown) != rows or not 0 <= int(shown.max()) < places):
        yield (
            f'says shown={tuple(shown.shape)} with numbers up to {int(shown.max())}, but it must be (R, h, w) with '
            f'columns of sources, 0 to {places - 1}'
        )
