"""Checks of a learner's settings, most of them made while it is built; each failure is one sentence for the user."""

import inspect
from collections.abc import Collection, Iterable, Mapping, Sequence

import torch
from torch import Tensor, nn

from mixcl.backbones.patch_size import patch_size_of
from mixcl.encoders.stream import Level, RowsOf
from mixcl.errors import UserError
from mixcl.losses import Objective, Queue


def check_names(place: str, names: Iterable[str], streams: Sequence[str]) -> None:
    """Raise UserError if ``place`` of the config names a stream that does not exist."""
    unknown = sorted(set(names) - set(streams))
    if unknown:
        raise UserError(f'{place} names an unknown stream {unknown[0]!r}; known streams: {", ".join(streams)}')


def check_joint(joint: Sequence[Sequence[str]], streams: Sequence[str]) -> None:
    """Raise UserError if a stream would go through an encoder in two groups."""
    names = [name for group in joint for name in group]
    check_names('model.joint', names, streams)
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise UserError(f'model.joint names {repeated[0]!r} twice; a stream shares a forward pass with one group')


def check_keep(keep: Mapping[str, float], queries: Collection[str], backbone: nn.Module) -> None:
    """Raise UserError if patches would be dropped from streams that are never queries, or the backbone cannot drop any.

    Args:
        keep: share of the patches that are kept, by stream.
        queries: names of the streams that are queries.
        backbone: the online backbone.
    """
    for name, share in keep.items():
        if name not in queries:
            raise UserError(
                f'model.streams: {name} has keep={share}, but no row of model.terms has it as its query, and keys keep '
                f'all patches; leave keep out, or set it for {", ".join(sorted(queries))}'
            )
        check_can_drop(f'model.streams: {name} has keep={share}, but ', backbone)


def check_koleo(koleo: Collection[str], online: Collection[RowsOf]) -> None:
    """Raise UserError if features would be spread that are not encoded with gradient."""
    for name in koleo:
        if RowsOf(name) not in online:
            queries = ', '.join(sorted(rows.stream for rows in online if rows.level == 'image'))
            raise UserError(
                f'model.streams: {name} has koleo, but no row of model.terms has its images as query, so '
                f'that it is not trained; leave koleo out, or set it for {queries}'
            )


def check_masks(masks: Collection[str], queries: Collection[str], backbone: nn.Module) -> None:
    """Raise UserError if streams would be masked that are never queries, or the backbone has no mask token."""
    for name in masks:
        if name not in queries:
            raise UserError(
                f'model.streams: {name} has a mask, but no row of model.terms has it as its query, and keys stay '
                f'whole; leave mask out, or set it for {", ".join(sorted(queries))}'
            )
        if getattr(backbone, 'mask_token', None) is None:
            raise UserError(
                f'model.streams: {name} has a mask, but {type(backbone).__name__} has no mask token; use '
                'ContrastiveViT with model.backbone.mask_token=True'
            )


def check_can_drop(place: str, backbone: nn.Module) -> None:
    """Raise UserError, beginning with ``place``, unless the backbone can drop patches."""
    takes = 'tokens' in inspect.signature(backbone.forward).parameters and getattr(backbone, 'drops_patches', True)
    if not takes or getattr(backbone, 'patch_size', None) is None:
        raise UserError(
            f'{place}{type(backbone).__name__} cannot drop patches; use ContrastiveViT as model.backbone, or '
            'TimmBackbone with a plain vision transformer'
        )


def check_widths(
    neck: Mapping, predictor: Mapping | None, objectives: Mapping[Level, Objective], memory: Mapping[str, Queue]
) -> None:
    """Raise UserError if vectors that are compared would have different lengths; unknown lengths pass."""
    projected = neck.get('out_channels')
    predicted = projected if predictor is None else predictor.get('out_channels')
    widths = {'model.neck.out_channels': projected, 'model.predictor.out_channels': predicted}
    if predictor is not None:
        widths['model.predictor.in_channels'] = predictor.get('in_channels')
    widths |= {f'model.memory.{name}.channels': queue.channels for name, queue in memory.items()}
    for level, objective in objectives.items():
        place = 'model.patches.objective' if level == 'patch' else 'model.objective'
        widths |= {f'{place}.{name}': width for name, width in objective.widths.items()}
    known = {name: width for name, width in widths.items() if width is not None}
    if len(set(known.values())) > 1:
        listed = ', '.join(f'{name}={width}' for name, width in known.items())
        raise UserError(f'the vectors that are compared have different lengths: {listed}; make these numbers equal')


def check_losses(rows: object, number: int, objective: Objective, term: str) -> None:
    """Raise UserError unless an objective gives one loss per query row; anything else would be averaged too."""
    if not isinstance(rows, Tensor) or rows.shape != (number,):
        found = tuple(rows.shape) if isinstance(rows, Tensor) else type(rows).__name__
        raise UserError(
            f'{type(objective).__name__} gives {found} for {term}, but it must give one loss per query row, ({number},)'
        )


def check_features(features: Mapping[RowsOf, Tensor], in_channels: int | None, backbone: nn.Module) -> None:
    """Raise UserError if the features (R, C) are not as wide as the projector expects, or do not train the backbone."""
    trained = torch.is_grad_enabled() and any(parameter.requires_grad for parameter in backbone.parameters())
    for value in features.values():
        if trained and not value.requires_grad:
            raise UserError(
                f'the features of {type(backbone).__name__} carry no gradient, so it would not be trained: remove '
                'no_grad or detach from its forward, or freeze its parameters'
            )
        if in_channels is not None and value.shape[1] != in_channels:
            raise UserError(
                f'the backbone gives features of {value.shape[1]} channels, but model.neck.in_channels={in_channels}; '
                'set it to what the backbone gives'
            )


def check_patches(backbone: nn.Module, crops: Sequence[Tensor]) -> None:
    """Raise UserError if the backbone is a vision transformer that the crops (C, h, w) do not fit.

    The backbone would silently drop pixels at the border, or resize its position embedding.
    """
    for crop in crops:
        check_whole_patches(backbone, crop, 'make the size of the crops a multiple of patch_size')
    image_size = getattr(backbone, 'img_size', None)
    if image_size is not None and tuple(crops[0].shape[-2:]) != tuple(image_size):
        raise UserError(
            f'the data pipeline delivers first crops of {tuple(crops[0].shape[-2:])} pixels, but '
            f'model.backbone.img_size is {tuple(image_size)}; make them agree'
        )


def check_whole_patches(backbone: nn.Module, image: Tensor, advice: str) -> None:
    """Raise UserError, with ``advice``, if the backbone's patches (if any) do not fill an image (3, h, w)."""
    patch_size, (height, width) = patch_size_of(backbone), image.shape[-2:]
    if patch_size is not None and (height % patch_size or width % patch_size):
        raise UserError(
            f'images of {height}x{width} pixels cannot be cut into the patches of {patch_size}x{patch_size} of '
            f'model.backbone; {advice}'
        )
