"""A map of the features of many images."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane
from mixcl.visualization.canvas import MARKERS, PALETTE, bare, plain
from mixcl.visualization.gallery import Gallery, encoder_of, features_of, gallery_of
from mixcl.visualization.pictured import Pictured

LEAST, MOST_NAMES = 10, 24


def _umap(features: Tensor, seed: int) -> Tensor:
    from umap import UMAP  # type: ignore[import-not-found]

    return torch.from_numpy(UMAP(random_state=seed).fit_transform(features.numpy()))


METHODS: dict[str, tuple[str, Callable[[Tensor, int], Tensor]]] = {
    'tsne': ('t-SNE', map_to_plane),
    'umap': ('UMAP', _umap),
}


@dataclass(frozen=True)
class FeatureMap:
    """Features of a gallery as points (N, 2), in groups (N,): classes, or clusters; their DBI and CHI in words."""

    gallery: Gallery
    points: Tensor
    groups: Tensor
    clustered: bool
    title: str
    measured: list[str]

    def name(self, group: int) -> str:
        """Of a class or a cluster."""
        return f'cluster {group}' if self.clustered else self.gallery.class_name(group)

    def styles(self) -> dict[int, tuple[str, str]]:
        """The colour and the marker of each group."""
        most = len(PALETTE)
        pairs = enumerate(self.groups.unique().tolist())
        return {group: (PALETTE[one % most], MARKERS[(one + one // most) % len(MARKERS)]) for one, group in pairs}


def feature_map(
    pictured: Pictured, num_images: int = 1000, method: str = 'tsne', clusters: int | None = None
) -> FeatureMap:
    """Lay features out in two dimensions, in groups by class or by k-means, with both papers' indices of clusters.

    MixCo (https://arxiv.org/abs/2010.06300, Fig. 3) gives the Davies-Bouldin (DBI, lower is better) and the
    Calinski-Harabasz index (CHI, higher is better) of classes; here of the features, and of the map.

    Args:
        pictured: the model and its images.
        num_images: how many, at most.
        method: 'tsne' by scikit-learn, or 'umap', where umap-learn is installed.
        clusters: groups by k-means of so many clusters; by default classes where there are labels, else 10.

    Raises:
        UserError: if there are too few images, or the method is not installed.
    """
    if method not in METHODS:
        raise UserError(f'--method {method!r} is none of {", ".join(METHODS)}')
    if clusters is not None and not 2 <= clusters < num_images:
        raise UserError(f'--clusters {clusters} must be 2 or more, and fewer than the images')
    gallery = gallery_of(pictured, num_images, LEAST)
    features = features_of(encoder_of(pictured), gallery)
    title, place = METHODS[method]
    try:
        points = place(features, pictured.seed)
    except ImportError as error:
        raise UserError('--method umap needs umap-learn: pip install umap-learn') from error
    groups = gallery.labels
    clustered = groups is None or clusters is not None
    if groups is None or clustered:
        number = min(clusters or 10, len(features) - 1)
        groups = torch.from_numpy(
            KMeans(number, n_init=4, random_state=pictured.seed).fit_predict(features.numpy())
        ).long()
    measured = []
    if 2 <= len(groups.unique()) < len(groups):
        parts = {'of the features': cluster_indices(features, groups), 'on the map': cluster_indices(points, groups)}
        measured = [f'{at}: DBI {x["davies_bouldin"]:.2f}, CHI {x["calinski_harabasz"]:.0f}' for at, x in parts.items()]
    title = f'{title} of {len(features)} images: {plain(pictured.name, 60)}'
    return FeatureMap(gallery, points, groups, clustered, title, measured)


def map_figure(pictured: Pictured, **options: Any) -> Figure:
    """Draw a :func:`feature_map`; same arguments and errors."""
    return draw_map(feature_map(pictured, **options))


def draw_map(found: FeatureMap) -> Figure:
    """The map with a colour and a marker for each group."""
    figure = Figure(figsize=(8.2, 6.2), layout='constrained')
    axis = figure.subplots()
    styles = found.styles()
    for number, (group, (colour, marker)) in enumerate(styles.items()):
        across, up = found.points[found.groups == group].T
        label = plain(found.name(group)) if number < MOST_NAMES else None
        axis.scatter(across, up, s=24, color=colour, marker=marker, alpha=0.75, linewidths=0, label=label)
    rest = f' (and {len(styles) - MOST_NAMES} more)' if len(styles) > MOST_NAMES else ''
    title = f'{"k-means" if found.clustered else "class"}{rest}'
    axis.legend(title=title, loc='center left', bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
    bare(axis)
    axis.set_title(found.title, fontsize=10)
    if found.measured:
        axis.set_xlabel('\n'.join([*found.measured, '(DBI: lower is better, CHI: higher is better)']), fontsize=8)
    return figure
