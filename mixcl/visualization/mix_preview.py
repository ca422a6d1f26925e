"""Pictures of the mixtures of a config."""

from collections.abc import Collection

from matplotlib.figure import Figure
from mmengine.config import Config, ConfigDict

from mixcl.algorithms import StepKey, Stream, StreamRecipe
from mixcl.backbones.patch_size import plain_patch_size
from mixcl.datasets import KeyedDataset
from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.registry import MIXERS, MODELS, build
from mixcl.visualization.canvas import finished, show
from mixcl.visualization.pictured import spread, training_crops, training_set


def mixture_figure(cfg: Config, num_images: int = 6, seed: int = 0, dataset: KeyedDataset | None = None) -> Figure:
    """Draw originals and the mixtures that a pretraining config makes of them, with the sources' shares.

    ``dataset`` is the config's training set, if it is already built.

    Raises:
        UserError: if the config mixes nothing, or the images cannot be mixed.
    """
    model = cfg.model
    names = mixed_streams(cfg)
    if not names:
        raise UserError('this config has no mixed stream (model.streams), so there is nothing to preview')
    recipe = StreamRecipe(
        model.get('views') or dict(view1=1, view2=1),
        model.streams,
        MIXERS.build(dict(model.mixer)) if model.get('mixer') else None,
        model.get('shared_plan', True),
    )
    _follow(recipe, model)
    images = dataset or training_set(cfg, num_images)
    crops = training_crops(cfg, [images[SampleKey(seed, 0, index)] for index in spread(len(images), num_images)])
    recipe.check([crop[0] for crop in crops], num_images, set(names))
    # Each view once, before the first of its mixtures.
    rows = dict.fromkeys(row for name in names for row in (*recipe.source(name), name))
    streams = recipe.build(crops, set(rows), StepKey(seed, 0, 0))
    return _draw([streams[row] for row in rows], recipe.views)


def _follow(recipe: StreamRecipe, model: ConfigDict) -> None:
    """Let mixers cut images where the backbone does."""
    with undisturbed_generators():
        backbone = build(MODELS, model.backbone)
    for mixer in recipe.mixers:
        mixer.follow(plain_patch_size(backbone))


def mixed_streams(cfg: Config) -> list[str]:
    """Return the names of the streams that a pretraining config mixes."""
    return [name for name, settings in (cfg.model.get('streams') or {}).items() if 'mix' in settings]


def _draw(rows: list[Stream], views: Collection[str]) -> Figure:
    """Draw a row of images for each stream, a view or mixtures."""
    columns = min(8, max(len(stream.images) for stream in rows))
    figure = Figure(figsize=(1.9 * columns, 2.1 * len(rows)), layout='constrained')
    for stream, axes in zip(rows, figure.subplots(len(rows), columns, squeeze=False), strict=True):
        for axis in axes:
            axis.axis('off')
        # There are several local crops per image; MixCo makes one mixture of two images.
        for column in range(min(columns, len(stream.images))):
            text = f'image {column}' if stream.name in views else _shares(stream, column)
            show(axes[column], stream.images[column], f'{stream.name}: {text}')
    figure.suptitle('Originals and their mixtures, with the share of each source image')
    return finished(figure)


def _shares(stream: Stream, row: int) -> str:
    sources = stream.composition.sources[row].tolist()
    weights = stream.composition.weights[row].tolist()
    return '\n'.join(f'{weight:.0%} of {source}' for source, weight in zip(sources, weights, strict=True))
