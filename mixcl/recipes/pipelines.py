"""The pipelines of transforms that the facts of a recipe ask for."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from mixcl.errors import UserError
from mixcl.recipes.facts import VIEWS, Data, Evaluated, EvaluatedView, Step, View
from mixcl.recipes.typed import suggested, typed

READERS = ('LoadImage', 'LoadChannels', 'RGBToBGR', 'LoadImageFromFile')
NO_VIEWS = ('all', 'after', 'type')
PACK = dict(type='mmpretrain.PackInputs')
CROP = dict(type='mmpretrain.RandomResizedCrop', backend='pillow')
NOTHING: Mapping[str, Any] = {}


def views_of(views: Mapping[str, Any], data: Data) -> dict[str, View]:
    """Return the views of a recipe by name, without those that are None; what suits the data comes before the method's.

    Raises:
        UserError: if a view says something that no view has.
    """
    pair = pair_settings(views)
    names = [name for name, view in views.items() if name not in (*NO_VIEWS, *pair) and view is not None]
    shared, of_data = given(views, 'all'), data.views
    for name in of_data:
        typed(View, given(of_data, name), f'data.views.{name}')
    found = {}
    for name in names:
        said = shared | given(views, name) | given(of_data, 'all') | given(of_data, name)
        found[name] = typed(View, dict(size=data.size) | said, f'views.{name}')
    return found


def given(views: Mapping[str, Any], name: str, place: str = 'views') -> dict[str, Any]:
    """Return what is said about a view; raises UserError if that is no dict."""
    said = views.get(name) or {}
    if not isinstance(said, Mapping):
        raise UserError(f'{place}.{name}={said!r} must be a dict, or None for no such view')
    return dict(said)


def pair_settings(views: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the transform that makes a pair of views, which are plain values, if there is one."""
    return {
        name: value
        for name, value in views.items()
        if views.get('type') and name not in NO_VIEWS and not isinstance(value, Mapping)
    }


def training_pipeline(
    data: Data, views: Mapping[str, Any], steps: Mapping[str, dict], patch_size: int | None
) -> list[dict]:
    """Return the steps that read an image and make its views.

    Equal views that follow each other share one pipeline, so that the device finishes them as one batch.
    """
    pair, found = views.get('type'), views_of(views, data)
    crop = dict(CROP, type='RecordedResizedCrop') if pair else CROP
    made = [
        ([_crop(crop, view), *named(view.steps, steps, f'views.{name}.steps')], view.crops)
        for name, view in found.items()
    ]
    if pair:
        several = dict(type=pair, patch_size=patch_size, **pair_settings(views))
        several |= dict(transforms=[transforms for transforms, _ in made])
    else:
        groups = [(transforms, sum(n for _, n in group)) for transforms, group in groupby(made, lambda each: each[0])]
        several = dict(type='KeyedMultiView', num_views=[n for _, n in groups])
        several |= dict(transforms=[transforms for transforms, _ in groups])
    after = named(views.get('after') or [], steps, 'views.after')
    masks = dict(input_size=data.size, model_patch_size=patch_size)
    after = [{**masks, **step} if str(step['type']).endswith('MaskGenerator') else step for step in after]
    pack = {**PACK, **({'algorithm_keys': ['tokens', 'patch_grid']} if pair else {})}
    return [*named(data.read, steps, 'data.read'), several, *after, pack]


def needs_patches(views: Mapping[str, Any]) -> bool:
    """Whether some transform cuts images into the patches of the backbone."""
    return bool(views.get('type') or views.get('after'))


def evaluated_view(evaluated: Evaluated, data: Data, name: str) -> EvaluatedView:
    """Return a view of evaluations by its name, else 'plain'; raises UserError if it says what no view has."""
    if name not in {*evaluated.views, *VIEWS}:
        raise UserError(f'views={name!r} is no view of the data set{suggested(name, {*evaluated.views, *VIEWS})}')
    name = name if name in evaluated.views else 'plain'
    said = dict(size=data.size, resize=data.resize) | given(evaluated.views, name, 'evaluated.views')
    view = typed(EvaluatedView, said, f'evaluated.views.{name}')
    if view.resize is not None and view.resize < view.size:
        raise UserError(f'images are resized to {view.resize} pixels (data.resize), too few for crops of {view.size}')
    return view


def augmented_pipeline(data: Data, view: EvaluatedView, steps: Mapping[str, dict]) -> list[dict]:
    """Return the steps that read an image for the training of a classifier."""
    crop = [] if view.crop is None else [_crop(CROP, view)]
    return [*named(data.read, steps, 'data.read'), *crop, *named(view.steps, steps, 'evaluated.views'), dict(PACK)]


def evaluation_pipeline(
    data: Data, steps: Mapping[str, dict], view: EvaluatedView | None = None, pack: Mapping[str, Any] = NOTHING
) -> list[dict]:
    """Return the steps that read an image as evaluations take it."""
    size, resize, by = data.size, data.resize, 'bicubic'
    if view is not None:
        size, resize, by = view.size, view.resize, view.tested_by or view.interpolation
    read = named(data.read, steps, 'data.read')
    found = [*read, dict(PACK)] if resize is None else centred(read, size, resize, by)
    return [*found[:-1], {**found[-1], **pack}]


def centred(
    read: Sequence[Mapping], size: int, resize: int | None = None, interpolation: str = 'bicubic'
) -> list[dict[str, Any]]:
    """Return steps that read an image, resize its short edge, by default to 256/224 of the size, and crop the centre.

    This is how papers evaluate.
    """
    by = dict(backend='pillow', interpolation=interpolation)
    if channels := next((step['channels'] for step in read if 'channels' in step), None):
        by = dict(backend='cv2', interpolation='area' if channels <= 4 else 'bicubic')  # Pillow takes three channels
    edge = dict(type='mmpretrain.ResizeEdge', scale=resize or size * 256 // 224, edge='short', **by)
    return [*map(dict, read), edge, dict(type='mmpretrain.CenterCrop', crop_size=size), dict(PACK)]


def named(given: Sequence[Step], steps: Mapping[str, dict], place: str) -> list[dict]:
    """Return the configs of transforms that are given by name or as they are; raises UserError for an unknown name."""
    for step in given:
        if isinstance(step, str) and step not in steps:
            hint = suggested(step, steps) if steps else ": let the file inherit from 'mixcl::_base_/runtime.py'"
            raise UserError(f'{place} names {step!r}, which is none of the steps{hint}')
    found = [steps[step] if isinstance(step, str) else step for step in given]
    if wrong := [step for step in found if not isinstance(step, Mapping) or 'type' not in step]:
        raise UserError(f'{place} has {wrong[0]!r}, which is no dict with a type')
    return [*map(dict, found)]


def _crop(crop: Mapping[str, Any], view: View | EvaluatedView) -> dict[str, Any]:
    shape = dict(scale=view.size, crop_ratio_range=tuple(view.crop or ()), interpolation=view.interpolation)
    return {**crop, **shape}
