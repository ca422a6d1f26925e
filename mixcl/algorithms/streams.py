"""Streams: named batches of rows, and what each row counts as."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from mixcl.algorithms.checks import check_joint
from mixcl.algorithms.masking import BlockMasks
from mixcl.algorithms.mixtures import mixtures_of, views_of
from mixcl.composition import Composition
from mixcl.encoders.passes import joined
from mixcl.encoders.stream import Stream
from mixcl.errors import UserError
from mixcl.mixers import Mixer
from mixcl.mixers.pair import place_views
from mixcl.mixers.trial import try_mixer
from mixcl.randomness import StepKey, generator
from mixcl.ranges import COUNT, NOT_NEGATIVE, SHARE, check_range

MOST_TRIED_IMAGES = 16
"""Largest number of images in a mixer's trial."""


class StreamRecipe:
    """A recipe for making the streams of a step from the views that the data loader delivers.

    Args:
        views: number of crops by view name, in the order of the loader, for example
            ``dict(view1=1, view2=1, local=8)``. A view of several crops is one stream with that many rows per image.
        streams: settings of streams by name. Mixed streams have ``mix=<view>``: the view whose crops are mixed, one by
            one; or ``mix=(<view>, <view>)``, owners from the first and partners from the second. They may have a
            ``mixer`` of their own. Mixed streams and views may have ``keep``, the share of the patches that the online
            encoder sees, in (0, 1], or ``mask``, the arguments of :class:`~mixcl.algorithms.masking.BlockMasks`. Views
            may have ``koleo``, the weight of :func:`~mixcl.losses.koleo.koleo` on their features, crop by crop.
        mixer: mixer of the mixed streams that have none of their own; None if there are none.
        shared_plan: whether all streams of one mixer share its plan of a step (SDMP, PatchMix); if not, each has its
            own (MixCo, DACL).
        swap_views: probability that the first two views change places in a step, by one coin for all processes (SDMP).
        joint: groups of streams that share a forward pass.

    Raises:
        UserError: if a mixed stream names an unknown view, takes a view's name, or has no mixer; if a mixer has no
            stream, or cannot mix two views; if ``keep`` is out of range; if views that change places have different
            numbers of crops.
    """

    def __init__(
        self,
        views: dict[str, int],
        streams: dict[str, dict],
        mixer: Mixer | None,
        shared_plan: bool = True,
        swap_views: float = 0.0,
        joint: Sequence[Sequence[str]] = (),
    ) -> None:
        check_range('model', SHARE, swap_views=swap_views)
        if not all(map(COUNT.holds, views.values())):
            raise UserError(f'model.views={views!r} must give every view a number of crops of at least 1')
        if swap_views and (len(views) < 2 or len(set(list(views.values())[:2])) > 1):
            raise UserError(
                f'model.swap_views={swap_views!r} lets the first two views change places, but model.views={views!r} '
                'has no two with equal numbers of crops'
            )
        for name, settings in streams.items():
            _check_stream(name, settings, views)
        self.views = dict(views)
        mixed = {name: settings for name, settings in streams.items() if name not in views}
        self.mixtures = mixtures_of(mixed, views, mixer, shared_plan)
        self.keep = {name: settings['keep'] for name, settings in streams.items() if settings.get('keep', 1) < 1}
        self.masks = {name: BlockMasks(**settings['mask']) for name, settings in streams.items() if 'mask' in settings}
        self.koleo = {name: settings['koleo'] for name, settings in streams.items() if settings.get('koleo')}
        self.mixer = mixer
        self.swap_views = swap_views
        check_joint(joint, self.names)
        self._groups = {name: number for number, group in enumerate(joint) for name in group}
        for name in self.names:
            self._groups.setdefault(name, len(joint) + len(self._groups))

    @property
    def names(self) -> list[str]:
        """Names of all streams."""
        return [*self.views, *self.mixtures]

    @property
    def mixers(self) -> list[Mixer]:
        """All mixers, each once, the one of ``mixer`` first."""
        own = {id(made.mixer): made.mixer for made in self.mixtures.values()}
        return sorted(own.values(), key=lambda mixer: mixer is not self.mixer)

    def source(self, name: str) -> tuple[str, ...]:
        """Return the view of a stream; of a stream mixed from two, both."""
        return self.mixtures[name].views if name in self.mixtures else (name,)

    def crops(self, name: str) -> int:
        """Return the number of rows per image of a stream."""
        return self.views[self.source(name)[0]]

    def check(self, crops: list[Tensor], batch_size: int, names: set[str]) -> None:
        """Raise UserError if the named streams cannot be made from batches of such crops (C, h, w)."""
        by_view = self._by_view(crops)
        for name, made in self.mixtures.items():
            if name in names:
                taken = [crop for view in made.views for crop in by_view[view]]
                sizes = {(crop.shape[-2], crop.shape[-1]) for crop in taken}
                if len(made.views) == 2 and len(sizes) > 1:
                    raise UserError(
                        f'model.streams: {name} mixes {" and ".join(made.views)}, whose crops have different sizes, '
                        f'{sorted(sizes)}; give these views one size'
                    )
                for height, width in sizes:
                    made.mixer.check(batch_size, height, width)
                    images, channels = min(batch_size, MOST_TRIED_IMAGES), taken[0].shape[-3]
                    try_mixer(made.mixer, images, channels, height, width, len(made.views))

    def build(self, crops: list[Tensor], names: set[str], key: StepKey) -> dict[str, Stream]:
        """Build the named streams of one step.

        Args:
            crops: (B, 3, h, w) each, all crops of view 1, then all of view 2, and so on.
            names: the streams that are needed.
            key: key of the step.
        """
        by_view = self._swapped(self._by_view(crops), key)
        batch, device = len(crops[0]), crops[0].device
        plain = Composition.identity(batch, key.rank * batch, device)
        streams = {
            name: Stream(name, joined(by_view[name]), Composition.cat([plain] * count), group=self._groups[name])
            for name, count in self.views.items()
            if name in names
        }
        plans: dict[tuple[str, ...], object] = {}
        for name, made in self.mixtures.items():
            if name in names:
                if made.plan_key not in plans:
                    plans[made.plan_key] = made.mixer.plan(batch, generator(*key, *made.plan_key))
                crops_of = zip(*(by_view[view] for view in made.views), strict=True)
                streams[name] = self._mix(name, list(crops_of), plans[made.plan_key], key)
        return streams

    def hidden(self, streams: dict[str, Stream], patch_size: int, key: StepKey) -> dict[str, Stream]:
        """Return the streams without the patches that the online encoder does not see."""
        seen = dict(streams)
        for name, keep in self.keep.items():
            seen[name] = streams[name].dropped(keep, patch_size, generator(*key, name, 'keep'))
        for name, masks in self.masks.items():
            images, grid = streams[name].images, streams[name].grid(patch_size)
            seen[name] = replace(streams[name], mask=masks(len(images), grid, generator(*key, name, 'mask')))
        return seen

    def _swapped(self, by_view: dict[str, list[Tensor]], key: StepKey) -> dict[str, list[Tensor]]:
        coin = torch.rand((), generator=generator(key.seed, key.step, 'swap')).item()
        if coin >= self.swap_views:
            return by_view
        first, second = list(by_view)[:2]
        return by_view | {first: by_view[second], second: by_view[first]}

    def _by_view(self, crops: list[Tensor]) -> dict[str, list[Tensor]]:
        if len(crops) != sum(self.views.values()):
            raise UserError(
                f'the data pipeline delivers {len(crops)} views per image, but model.views={self.views!r} expects '
                f'{sum(self.views.values())}; make num_views of KeyedMultiView agree with model.views'
            )
        remaining = iter(crops)
        return {name: [next(remaining) for _ in range(count)] for name, count in self.views.items()}

    def _mix(self, name: str, crops: list[tuple[Tensor, ...]], plan: object, key: StepKey) -> Stream:
        mixer = self.mixtures[name].mixer
        placed = [place_views(mixer, crop, plan, generator(*key, name, index)) for index, crop in enumerate(crops)]
        composition = Composition.cat([part for _, part in placed]).shifted(key.rank * len(crops[0][0]))
        return Stream(name, joined([images for images, _ in placed]), composition, group=self._groups[name])


def _check_stream(name: str, settings: dict, views: dict[str, int]) -> None:
    mixed = name not in views
    known = settings.keys() <= ({'keep', 'mask', 'koleo'} | ({'mix', 'mixer'} if mixed else set()))
    mix = views_of(settings) if isinstance(settings.get('mix'), (str, list, tuple)) else ()
    if not known or (mixed and not (1 <= len(mix) <= 2 and len(set(mix)) == len(mix) and set(mix) <= views.keys())):
        raise UserError(
            f'model.streams: {name}={dict(settings)!r} is not understood; a mixed stream has a name of its own, '
            f"written as dict(mix='VIEW') or dict(mix=('VIEW', 'VIEW')) with views of {', '.join(views)}, and may have "
            'a mixer; to show the online encoder half of the patches of a stream, set keep=0.5; to mask patches, '
            'mask=dict(...)'
        )
    mask = settings.get('mask', {})
    if not isinstance(mask, Mapping) or mask.keys() - {'share', 'probability'}:
        raise UserError(f'model.streams: {name} has mask={mask!r}; write dict(share=(0.1, 0.5), probability=0.5)')
    if 'keep' in settings and 'mask' in settings:
        raise UserError(f'model.streams: {name} has keep and mask; patches are dropped or masked, leave one out')
    if 'koleo' in settings and (name not in views or not NOT_NEGATIVE.holds(settings['koleo'])):
        raise UserError(
            f'model.streams: {name} has koleo={settings["koleo"]!r}; it is a weight of 0 or more of a view, not of '
            'a mixture, whose rows are alike where they share images'
        )
    keep = settings.get('keep', 1)
    if not SHARE.holds(keep) or keep == 0:
        raise UserError(
            f'model.streams: {name} has keep={keep!r}, but the share of patches that are kept lies in (0, 1]'
        )
