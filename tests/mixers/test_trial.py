"""A trial refuses mixers of users that would train something else."""

import pytest
import torch
from torch import Tensor, nn

from mixcl import Composition
from mixcl.errors import UserError
from mixcl.mixers import Choice, CutMix, Mixer, MixMask, Mixup, OriginalResizeMix, PatchMix, RegionSwap, ResizeMix
from mixcl.mixers.trial import try_mixer


class Roll(Mixer):
    """A mixer of image i and image i + 1, a half each, except for the parts given as arguments."""

    def __init__(self, **other: object) -> None:
        self.other = other

    def plan(self, num_images: int, generator: torch.Generator | None = None) -> None:
        return None

    def place(self, images: Tensor, plan: None, generator: torch.Generator | None = None) -> tuple:
        own = torch.arange(len(images))
        sources, weights = torch.stack([own, own.roll(-1)], 1), torch.full((len(own), 2), 0.5)
        shown = (torch.arange(images.shape[-1]) % 2).expand(len(own), *images.shape[-2:])
        parts = dict(
            images=(images + images.roll(-1, 0)) / 2, sources=sources, weights=weights, reach=None, shown=shown
        )
        mixed, *composition = (parts | self.other).values()
        return mixed, Composition(*composition)


class ImagesAlone(Roll):
    def place(self, images: Tensor, plan: None, generator: torch.Generator | None = None) -> Tensor:
        return images


class Some(Roll):
    """A mixer that makes a random number of mixtures."""

    def place(self, images: Tensor, plan: None, generator: torch.Generator | None = None) -> tuple:
        return super().place(images[: 2 + int(torch.rand((), generator=generator) * 4)], plan, generator)


class WithWeights(nn.Module, Roll):
    def __init__(self) -> None:
        nn.Module.__init__(self)
        self.other: dict = {}
        self.share = nn.Parameter(torch.zeros(()))


@pytest.mark.parametrize(
    'mixer',
    [
        Roll(), Roll(reach=2), Roll(shown=None), WithWeights(), PatchMix(3, 4), Mixup(), Mixup('halves'), CutMix(),
        ResizeMix(), OriginalResizeMix(), RegionSwap(cell=4, cells=[1, 2]), MixMask(),
        Choice([dict(type='Mixup', pairing='derangement'), dict(type='CutMix')]),
    ],
    ids=lambda mixer: type(mixer).__name__,
)  # fmt: skip
def test_what_is_right_passes(mixer: Mixer) -> None:
    for batch in (3, 4, 7):
        try_mixer(mixer, batch, 3, 16, 24)


OWN = torch.arange(4)


@pytest.mark.parametrize(
    ('mixer', 'message'),
    [
        (Roll(sources=torch.stack([OWN, OWN + 1], 1)), 'names the sources 0 to 4, but the images .* are 0 to 3'),
        (Roll(sources=torch.stack([OWN, OWN - 1], 1)), 'names the sources -1 to 3'),
        (Roll(weights=torch.tensor([[64.0, 192.0]] * 4)), r'the shares \[64.0, 192.0\], but they must .* sum to 1'),
        (Roll(weights=torch.tensor([[-0.5, 1.5]] * 4)), 'must be at least 0'),
        (Roll(weights=torch.full((4, 2), torch.nan)), r'the shares \[nan, nan\]'),
        (Roll(reach=1), 'puts an image into 2 mixtures, but says reach=1'),
        (Roll(images=torch.zeros(2, 3, 8, 8)), r'images \(2, 3, 8, 8\) of torch.float32 with a Composition of 4 rows'),
        (Roll(images=torch.zeros(4, 3, 8, 8, dtype=torch.uint8)), 'must return float'),
        (ImagesAlone(), 'returns Tensor, but place must return mixed images and their Composition'),
        (
            Roll(shown=OWN.repeat(4, 8, 2)),
            r'numbers up to 3, but it must be \(R, h, w\) with columns of sources, 0 to 1',
        ),
        (Roll(weights=torch.ones(4)), 'a mixture by Roll cannot be built: ValueError: a composition needs'),
        (Some(), 'mixtures of 4 images; the number must depend on the batch size alone'),
        (
            Choice([dict(type='Mixup', pairing='halves'), dict(type='CutMix')]),
            'Choice makes 2 or 4 mixtures of 4 images',
        ),
    ],
)
def test_what_would_train_something_else_is_refused(mixer: Mixer, message: str) -> None:
    with pytest.raises(UserError, match=message):
        try_mixer(mixer, 4, 3, 8, 8)
