"""Images and their nearest neighbours among the others."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import torch
from matplotlib.figure import Figure
from mmengine.config import Config
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.knn import nearest_neighbours
from mixcl.visualization.canvas import bare, finished, plain, show
from mixcl.visualization.gallery import Gallery, displayed, gallery_of
from mixcl.visualization.pictured import Pictured
from mixcl.weights.preprocess import Preprocess

RIGHT, WRONG = '#0072B2', '#D55E00'


def others_nearest(features: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return cosines and indices, (N, k) each, of the k rows nearest to each row of (N, D) except itself, in order."""
    cosines, indices = nearest_neighbours(features, features, k + 1)
    itself = indices == torch.arange(len(features))[:, None]
    itself[:, -1] |= ~itself.any(dim=1)  # among more than k equal rows, the row itself may not be found
    return cosines[~itself].view(-1, k), indices[~itself].view(-1, k)


def mistakes(labels: Tensor, cosines: Tensor, indices: Tensor) -> Tensor:
    """Return how close other classes come (N,): the mean of ``cosines`` over the neighbours (N, k), own class as 0."""
    return (cosines * (labels[indices] != labels[:, None])).mean(dim=1)


def neighbour_figure(
    pictured: Pictured, num_images: int = 6, k: int = 7, worst: bool = False, among: int = 2000
) -> Figure:
    """Draw rows of an image and its k nearest of ``among`` images, with cosines, and class names if there are labels.

    With ``worst``, which needs labels, images whose neighbours of other classes are nearest come first.

    Raises:
        UserError: if there are too few images, or no labels where ``worst`` needs them.
    """
    gallery = gallery_of(pictured, max(among, num_images), max(k + 1, num_images))
    if worst and gallery.labels is None:
        raise UserError('`worst` shows neighbours of other classes, but the images have no labels; leave it out')
    features = gallery.features(pictured.model)
    return draw_neighbours(pictured.name, pictured.config, gallery, features, num_images, k, worst)


def draw_found(name: str, preprocess: Preprocess, nearest: Mapping[Path, Sequence[tuple[float, Path]]]) -> Figure:
    """Draw a row of each query and the files found for it, with cosines and names."""
    columns = 1 + max(map(len, nearest.values()))
    figure = Figure(figsize=(1.25 * columns, 1.62 * len(nearest) + 0.8), layout='constrained')
    for axes, (query, rest) in zip(figure.subplots(len(nearest), columns, squeeze=False), nearest.items(), strict=True):
        shown = [('query', query), *((f'{cosine:.3f}', path) for cosine, path in rest)]
        for axis in axes:
            bare(axis)
        for axis, (title, path) in zip(axes, shown, strict=False):
            show(axis, preprocess.shown(path), title, [plain(path.name, 16)])
    figure.suptitle(f'{plain(name)}: the nearest images, with cosines', fontsize=9)
    return finished(figure)


def draw_neighbours(
    name: str, cfg: Config, gallery: Gallery, features: Tensor, num_images: int = 6, k: int = 7, worst: bool = False
) -> Figure:
    """Draw the figure of :func:`neighbour_figure` with a name, from features (N, C) of a gallery, on the CPU."""
    labels = gallery.labels
    cosines, indices = others_nearest(features, k)
    order = torch.arange(len(indices))
    if worst and labels is not None:
        order = mistakes(labels, cosines, indices).argsort(descending=True, stable=True)
    figure = Figure(figsize=(1.25 * (k + 1), 1.62 * num_images + 0.8), layout='constrained')
    axes = figure.subplots(num_images, k + 1, squeeze=False)
    for row, query in enumerate(order[:num_images].tolist()):
        shown = [query, *indices[query].tolist()]
        images = displayed(cfg, gallery.images(shown))
        for column, (axis, number) in enumerate(zip(axes[row], shown, strict=True)):
            label = '' if labels is None else plain(gallery.class_name(int(labels[number])), 16)
            cosine = '' if column == 0 else f'{cosines[query, column - 1]:.3f}'
            show(axis, images[column], 'image' if column == 0 else cosine, [label] if label else [])
            if labels is not None and column:
                right = labels[number] == labels[query]
                axis.xaxis.label.set(color=RIGHT if right else WRONG, weight='normal' if right else 'bold')
    share = '' if labels is None else f'; of the same class: {(labels[indices] == labels[:, None]).float().mean():.0%}'
    figure.suptitle(
        f'{plain(name)}: the {k} nearest of {len(indices)} images, with cosines{share}'
        + ('\nthe worst mistakes first' if worst else '') + ('; bold: another class' if labels is not None else ''),
        fontsize=9,
    )  # fmt: skip
    return finished(figure)
