"""Two-dimensional map of the features of many images."""

from collections.abc import Callable

import torch
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane
from mixcl.visualization.canvas import MARKERS, PALETTE, bare, finished, plain
from mixcl.visualization.gallery import gallery_of
from mixcl.visualization.pictured import Pictured

LEAST, MOST_NAMES = 10, 24


def _umap(features: Tensor, seed: int) -> Tensor:
    from umap import UMAP  # type: ignore[import-not-found]

    return torch.from_numpy(UMAP(random_state=seed).fit_transform(features.numpy()))


METHODS: dict[str, tuple[str, Callable[[Tensor, int], Tensor]]] = {
    'tsne': ('t-SNE', map_to_plane),
    'umap': ('UMAP', _umap),
}


def map_figure(pictured: Pictured, num_images: int = 1000, method: str = 'tsne', clusters: int | None = None) -> Figure:
    """Draw features in two dimensions, grouped by class or by k-means, with two indices of the clusters.

    MixCo (https://arxiv.org/abs/2010.06300, Fig. 3) gives the Davies-Bouldin (DBI, lower is better) and the
    Calinski-Harabasz index (CHI, higher is better) of classes; here both are of the features and of the map.

    Args:
        pictured: the model and its images.
        num_images: maximum number of images.
        method: 'tsne' by scikit-learn, or 'umap', if umap-learn is installed.
        clusters: number of k-means clusters; by default groups are classes, or 10 clusters without labels.

    Raises:
        UserError: if there are too few images, or the method is not installed.
    """
    gallery = gallery_of(pictured, num_images, LEAST)
    features = gallery.features(pictured.model)
    title, place = METHODS[method]
    try:
        points = place(features, pictured.seed)
    except ImportError as error:
        raise UserError('`method=umap` needs umap-learn: pip install umap-learn') from error
    groups, name, kind = gallery.labels, gallery.class_name, 'class'
    if groups is None or clusters is not None:
        number = min(10 if clusters is None else clusters, len(features) - 1)
        found = KMeans(number, n_init=4, random_state=pictured.seed).fit_predict(features.numpy())
        groups, name, kind = torch.from_numpy(found).long(), 'cluster {}'.format, 'k-means'
    figure = Figure(figsize=(8.2, 6.2), layout='constrained')
    axis = figure.subplots()
    present = groups.unique().tolist()
    for number, group in enumerate(present):
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[(number + number // len(PALETTE)) % len(MARKERS)]
        across, up = points[groups == group].T
        label = plain(name(group), 24) if number < MOST_NAMES else None
        axis.scatter(across, up, s=24, color=colour, marker=marker, alpha=0.75, linewidths=0, label=label)
    rest = f' (and {len(present) - MOST_NAMES} more)' if len(present) > MOST_NAMES else ''
    axis.legend(title=kind + rest, loc='center left', bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
    bare(axis)
    axis.set_title(f'{title} of {len(features)} images: {plain(pictured.name)}', fontsize=10)
    if 2 <= len(present) < len(groups):
        parts = {'of the features': cluster_indices(features, groups), 'on the map': cluster_indices(points, groups)}
        measured = [f'{at}: DBI {x["davies_bouldin"]:.2f}, CHI {x["calinski_harabasz"]:.0f}' for at, x in parts.items()]
        meaning = 'How far groups are apart: Davies-Bouldin (DBI, lower is better), Calinski-Harabasz (CHI, higher)'
        axis.set_xlabel('\n'.join([meaning, *measured]), fontsize=8)
    return finished(figure)
