"""Closeness of a query to keys of the same image, of similar images and of others, before and after training."""

from dataclasses import replace
from typing import Any

import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn.functional import normalize

from mixcl.datasets.keyed_dataset import SampleKey
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import labels_of
from mixcl.evaluation.view_features import features_of_views
from mixcl.randomness import generator
from mixcl.recipes.paths import innermost
from mixcl.visualization.canvas import PALETTE, finished, plain, show
from mixcl.visualization.pictured import Pictured, training_crops, training_set

QUERIES = 4
SHOWN = {'the same image': 1, 'its class': 3, 'another class': 4}
"""Kinds of keys, and how many of each are drawn beside a query."""


def closeness(queries: Tensor, keys: Tensor) -> Tensor:
    """Compute ``exp((s - 1) / .07)``, (N, M), of the cosines s of queries (N, C) and keys (M, C).

    This is the weight that kNN gives: 1 for equal directions, .24 at a cosine of .9 and below .001 from .5 down.
    Source: "Inter-Instance Similarity Modeling for Contrastive Learning", 2023, Fig. 4 and 8 to 10.
    """
    return ((normalize(queries, dim=1) @ normalize(keys, dim=1).T - 1) / 0.07).exp()


def kinds_of_keys(labels: Tensor) -> dict[str, Tensor]:
    """Return which (query, key) pairs, (N, N) bool, belong to each kind of :data:`SHOWN`, from classes (N,)."""
    same, alike = torch.eye(len(labels), dtype=torch.bool), labels[:, None] == labels
    return dict(zip(SHOWN, (same, alike & ~same, ~alike), strict=True))


def key_figure(pictured: Pictured, num_images: int = 200) -> Figure:
    """Draw queries and keys (the two views of training images) with their closeness, and its mean by kind of key.

    Args:
        pictured: a pretraining whose images have labels.
        num_images: number of images to compare with each other, drawn at random; all if there are fewer.

    Raises:
        UserError: if the images have no labels, no class has two images, or all images are of one class.
    """
    cfg = pictured.training
    if pictured.source:
        innermost(cfg.train_dataloader.dataset).split = 'train'  # has labels, unlike the split of pretraining
    dataset = training_set(cfg, least=2)
    every = labels_of(dataset)
    if every is None:
        raise UserError('keys are told apart by class, but the images have no labels; draw the figure similarity')
    chosen = torch.randperm(len(dataset), generator=generator('keys', pictured.seed))[:num_images]
    kinds = kinds_of_keys(torch.from_numpy(every)[chosen])
    queries = [number for number, pairs in enumerate(kinds['its class']) if pairs.any()][:QUERIES]
    if not queries or not kinds['another class'].any():
        raise UserError(
            f'none of {len(chosen)} images has another image of its class and one of another class; raise `num_images`'
        )
    stages = {'before training': replace(pictured, subject=None)}
    stages |= {} if pictured.subject is None else {f'after, {pictured.side} encoder': pictured}
    values_by_stage = {
        stage: closeness(
            *features_of_views(model.model, dataset, chosen.tolist(), 2, 'online', pictured.seed).unbind(1)
        )
        for stage, model in stages.items()
    }
    figure = Figure(figsize=(11, 1.55 * QUERIES + 3), layout='constrained')
    halves: Any = figure.subfigures(2, 1, height_ratios=[1.55 * QUERIES, 2.4])
    axes = halves[0].subplots(QUERIES, 1 + sum(SHOWN.values()), squeeze=False)
    for row, query in zip(axes, queries, strict=False):
        alike = {kind: kinds[kind][query].nonzero().flatten().tolist() for kind in SHOWN}
        keys = [(kind, key) for kind, count in SHOWN.items() for key in alike[kind][:count]]
        samples = [
            dataset[SampleKey(pictured.seed, 0, int(chosen[number]))] for number in (query, *(k for _, k in keys))
        ]
        crops = training_crops(cfg, samples)
        show(row[0], crops[0][0], 'query')
        for axis, image, (kind, key) in zip(row[1:], crops[1][1:], keys, strict=False):
            values = ', then '.join(f'{values[query, key]:.2f}' for values in values_by_stage.values())
            show(axis, image, f'key of {kind}', [values])
            axis.title.set_color(PALETTE[list(SHOWN).index(kind)])
    for axis in axes.flat:
        axis.axis('on' if axis.images else 'off')
    _draw_means(halves[1].subplots(), kinds, values_by_stage)
    figure.suptitle(f'Closeness exp((s - 1) / .07) of queries and keys: {plain(pictured.name)}', fontsize=11)
    return finished(figure)


def _draw_means(axis: Axes, kinds: dict[str, Tensor], values_by_stage: dict[str, Tensor]) -> None:
    for number, (stage, values) in enumerate(values_by_stage.items()):
        means = [values[pairs].mean().item() for pairs in kinds.values()]
        places = [place + (number - (len(values_by_stage) - 1) / 2) * 0.38 for place in range(len(kinds))]
        bars = axis.barh(places, means, 0.36, color=PALETTE[: len(kinds)], alpha=1 if number else 0.45)
        axis.bar_label(bars, [f' {mean:.3f} {stage}' for mean in means], fontsize=7)
    axis.set_yticks(range(len(kinds)), [f'keys of {kind}' for kind in kinds], fontsize=8)
    axis.set(xlim=(0, 1.25))
    axis.set_title(f'mean over all {len(values)} queries', fontsize=9)
    axis.invert_yaxis()
    axis.spines[['top', 'right']].set_visible(False)
