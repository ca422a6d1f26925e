"""The pipelines of transforms that the facts of a recipe ask for."""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

from mixcl.errors import UserError
from mixcl.recipes.facts import VIEWS, Data, EvaluatedView, EvaluationRecipe, Recipe, Step, View
from mixcl.recipes.typed import suggested, typed

READERS = ('LoadImage', 'LoadChannels', 'RGBToBGR', 'LoadImageFromFile')
NO_VIEWS = ('all', 'after', 'type')
PACK = dict(type='mmpretrain.PackInputs')
CROP = dict(type='mmpretrain.RandomResizedCrop', backend='pillow')


def views_of(recipe: Recipe) -> dict[str, View]:
    """Return the views of a recipe by name, with what suits the data in place of the method's; UserError for none."""
    data, pair = recipe.data, pair_settings(recipe.views)
    for name in data.views:
        typed(View, _said(data.views, name, 'data.views'), f'data.views.{name}')
    result = {}
    for name in (name for name, view in recipe.views.items() if name not in (*NO_VIEWS, *pair) and view is not None):
        said = [_said(views, each) for views in (recipe.views, data.views) for each in ('all', name)]
        result[name] = typed(View, dict(size=data.size) | said[0] | said[1] | said[2] | said[3], f'views.{name}')
    if not result:
        raise UserError('views names no view of an image; write views=dict(view1=dict(...), view2=dict(...))')
    return result


def _said(views: Mapping[str, Any], name: str, place: str = 'views') -> dict[str, Any]:
    said = views.get(name) or {}
    if not isinstance(said, Mapping):
        raise UserError(f'{place}.{name}={said!r} must be a dict, or None for no such view')
    return dict(said)


def pair_settings(views: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of the transform that makes a pair of views, which are plain values, if there is one."""
    plain = {name: value for name, value in views.items() if name not in NO_VIEWS and not isinstance(value, Mapping)}
    return plain if views.get('type') else {}


def training_pipeline(recipe: Recipe, views: Mapping[str, View], patch_size: int | None) -> list[dict]:
    """Return the steps that read an image and make its views.

    Equal views that follow each other share one pipeline, so that the device finishes them as one batch.
    """
    data, steps, pair = recipe.data, recipe.steps, recipe.views.get('type')
    crop = dict(CROP, type='RecordedResizedCrop') if pair else CROP
    made = [
        ([_crop(crop, view), *named(view.steps, steps, f'views.{name}.steps')], view.crops)
        for name, view in views.items()
    ]
    if pair:
        several = dict(type=pair, patch_size=patch_size, **pair_settings(recipe.views))
        several |= dict(transforms=[transforms for transforms, _ in made])
    else:
        groups = [(transforms, sum(n for _, n in group)) for transforms, group in groupby(made, lambda each: each[0])]
        several = dict(type='KeyedMultiView', num_views=[n for _, n in groups])
        several |= dict(transforms=[transforms for transforms, _ in groups])
    after = named(recipe.views.get('after') or [], steps, 'views.after')
    masks = dict(input_size=data.size, model_patch_size=patch_size)
    after = [{**masks, **step} if str(step['type']).endswith('MaskGenerator') else step for step in after]
    pack = {**PACK, **({'algorithm_keys': ['tokens', 'patch_grid']} if pair else {})}
    return [*named(data.read, steps, 'data.read'), several, *after, pack]


def evaluated_view(recipe: EvaluationRecipe) -> EvaluatedView:
    """Return the view of an evaluation, 'plain' where the data have none of its name; UserError for an unknown one."""
    name, given, data = recipe.views, recipe.evaluated.views, recipe.data
    if name not in {*given, *VIEWS}:
        raise UserError(f'views={name!r} is no view of the data set{suggested(name, {*given, *VIEWS})}')
    name = name if name in given else 'plain'
    said = dict(size=data.size, resize=data.resize) | dict(given.get(name) or {})
    view = typed(EvaluatedView, said, f'evaluated.views.{name}')
    if view.resize is not None and view.resize < view.size:
        raise UserError(f'images are resized to {view.resize} pixels (data.resize), too few for crops of {view.size}')
    return view


def augmented_pipeline(recipe: EvaluationRecipe, view: EvaluatedView) -> list[dict]:
    """Return the steps that read an image for the training of a classifier; a crop with masks has the view's size."""
    crop = [] if view.crop is None else [_crop(CROP, view)]
    read = named(recipe.data.read, recipe.steps, 'data.read')
    steps = named(view.steps, recipe.steps, 'evaluated.views')
    steps = [{'crop_size': view.size, **step} if step['type'] == 'MaskedCrop' else step for step in steps]
    return [*read, *crop, *steps, {**PACK, **recipe.evaluated.pack}]


def evaluation_pipeline(data: Data, steps: Mapping[str, dict], view: EvaluatedView | None = None) -> list[dict]:
    """Return the steps that read an image as evaluations take it."""
    size, resize, by = data.size, data.resize, 'bicubic'
    if view is not None:
        size, resize, by = view.size, view.resize, view.tested_by or view.interpolation
    read = named(data.read, steps, 'data.read')
    return [*read, dict(PACK)] if resize is None else centred(read, size, resize, by)


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


def named(chosen: Sequence[Step], steps: Mapping[str, dict], place: str) -> list[dict]:
    """Return the configs of transforms that are given by name or as they are; raises UserError for an unknown name."""
    configs = []
    for step in chosen:
        if isinstance(step, str) and step not in steps:
            hint = suggested(step, steps) if steps else ": let the file inherit from 'mixcl::_base_/runtime.py'"
            raise UserError(f'{place} names {step!r}, which is none of the steps{hint}')
        config = steps[step] if isinstance(step, str) else step
        if not isinstance(config, Mapping) or 'type' not in config:
            raise UserError(f'{place} has {config!r}, which is no dict with a type')
        configs.append(dict(config))
    return configs


def _crop(crop: Mapping[str, Any], view: View | EvaluatedView) -> dict[str, Any]:
    shape = dict(scale=view.size, crop_ratio_range=tuple(view.crop or ()), interpolation=view.interpolation)
    return {**crop, **shape}
