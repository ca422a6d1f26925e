"""Pictures of what a config mixes."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from mmengine.config import Config
from mmengine.registry import DefaultScope
from torch import Tensor
from torch.utils.data import default_collate

from mixcl.algorithms import StepKey, Stream, StreamRecipe
from mixcl.errors import UserError
from mixcl.files import check_writable
from mixcl.registry import DATASETS, MIXERS, MODELS


def mix_preview(cfg: Config, path: str | Path, num_images: int = 6, seed: int = 0) -> Path:
    """Draw originals and the mixtures that a pretraining config makes of them, with the sources' shares.

    Args:
        cfg: a pretraining config; its training data is read.
        path: of the picture, in a format that matplotlib writes, such as PNG.
        num_images: how many images to show, at least what the mixer needs.
        seed: of the random draws.

    Returns:
        The path.

    Raises:
        UserError: if the config mixes nothing, the images cannot be mixed, or the format is unknown.
    """
    if num_images < 1:
        raise UserError(f'--num-images must be at least 1, not {num_images}')
    formats = sorted(Figure().canvas.get_supported_filetypes())
    if Path(path).suffix.lower().removeprefix('.') not in formats:
        raise UserError(f'--out {path}: the name must end in one of .{", .".join(formats)}')
    check_writable(Path(path).parent, '--out')
    model = cfg.model
    names = mixed_streams(cfg)
    if not names:
        raise UserError('this config has no mixed stream (model.streams), so there is nothing to preview')
    recipe = StreamRecipe(model.get('views') or dict(view1=1, view2=1), model.streams, MIXERS.build(dict(model.mixer)))
    crops = _first_crops(cfg, num_images)
    recipe.check([crop[0] for crop in crops], num_images, set(names))
    views = [recipe.source[name] for name in names]
    streams = recipe.build(crops, {*names, *views}, StepKey(seed, 0, 0))
    return _draw([(view, streams[view], name, streams[name]) for view, name in zip(views, names, strict=True)], path)


def mixed_streams(cfg: Config) -> list[str]:
    """The names of the streams that a pretraining config mixes."""
    return [name for name, settings in (cfg.model.get('streams') or {}).items() if 'mix' in settings]


def _first_crops(cfg: Config, num_images: int) -> list[Tensor]:
    """(B, 3, h, w) RGB in [0, 1] for every crop of the pipeline."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        dataset = DATASETS.build(cfg.train_dataloader.dataset)
    if len(dataset) < num_images:
        raise UserError(f'the training set has {len(dataset)} images, fewer than the {num_images} to show')
    preprocessor = dict(cfg.get('data_preprocessor') or {}, type='mixcl.ViewPreprocessor', mean=None, std=None)
    crops = MODELS.build(preprocessor)(default_collate([_images(dataset[index]) for index in range(num_images)]))
    return [crop / 255 for crop in crops['inputs']]


def _images(sample: dict) -> dict:
    return {name: value for name, value in sample.items() if name != 'data_samples'}


def _draw(pairs: list[tuple[str, Stream, str, Stream]], path: str | Path) -> Path:
    columns = min(8, max(len(originals.images) for _, originals, _, _ in pairs))
    figure = Figure(figsize=(1.9 * columns, 4.2 * len(pairs)), layout='constrained')
    axes = figure.subplots(2 * len(pairs), columns, squeeze=False)
    for row, (view, originals, name, mixed) in enumerate(pairs):
        for axis in (*axes[2 * row], *axes[2 * row + 1]):
            axis.axis('off')
        for column in range(min(columns, len(originals.images))):  # of local crops there are several per image
            _show(axes[2 * row][column], originals.images[column], f'{view}: image {column}')
        for column in range(min(columns, len(mixed.images))):  # MixCo makes one mixture of two images
            _show(axes[2 * row + 1][column], mixed.images[column], f'{name}: {_shares(mixed, column)}')
    figure.suptitle('Originals and their mixtures, with the share of each source image')
    figure.savefig(path, dpi=110)
    return Path(path)


def _show(axis: Axes, image: Tensor, title: str) -> None:
    axis.imshow(image.clamp(0, 1).permute(1, 2, 0).numpy(), interpolation='nearest')
    axis.set_title(title, fontsize=7)


def _shares(stream: Stream, row: int) -> str:
    sources = stream.composition.sources[row].tolist()
    weights = stream.composition.weights[row].tolist()
    return '\n'.join(f'{weight:.0%} of {source}' for source, weight in zip(sources, weights, strict=True))
