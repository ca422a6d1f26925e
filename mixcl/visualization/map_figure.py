"""A map of the features of many images."""

from collections.abc import Callable

import torch
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from torch import Tensor

from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import PERPLEXITY, cluster_indices, map_to_plane
from mixcl.visualization.canvas import MARKERS, PALETTE, bare, plain
from mixcl.visualization.gallery import encoder_of, features_of, gallery_of
from mixcl.visualization.pictured import Pictured

LEAST, MOST_NAMES = 10, 24


def _open_tsne(features: Tensor, seed: int) -> Tensor:
    from openTSNE import TSNE  # type: ignore[import-not-found]

    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    return torch.from_numpy(TSNE(perplexity=perplexity, random_state=seed).fit(features.numpy()).__array__())


def _umap(features: Tensor, seed: int) -> Tensor:
    from umap import UMAP  # type: ignore[import-not-found]

    return torch.from_numpy(UMAP(random_state=seed).fit_transform(features.numpy()))


METHODS: dict[str, tuple[str, Callable[[Tensor, int], Tensor]]] = {
    'tsne': ('t-SNE', map_to_plane),
    'opentsne': ('t-SNE (openTSNE)', _open_tsne),
    'umap': ('UMAP', _umap),
}
PACKAGES = dict(opentsne='openTSNE', umap='umap-learn')


def map_figure(
    pictured: Pictured,
    num_images: int = 1000,
    method: str = 'tsne',
    clusters: int | None = None,
    seed: int = 0,
    encoder: str | None = None,
    image_size: int | None = None,
) -> Figure:
    """Draw features in two dimensions, coloured by class or by k-means, with both papers' indices of clusters.

    MixCo (https://arxiv.org/abs/2010.06300, Fig. 3) gives the Davies-Bouldin (DBI, lower is better) and the
    Calinski-Harabasz index (CHI, higher is better) of classes; here of the features, and of the map.

    Args:
        pictured: the model and its images.
        num_images: how many, at most.
        method: 'tsne' by scikit-learn; 'opentsne' or 'umap', where these are installed.
        clusters: colours by k-means of so many clusters; by default classes where there are labels, else 10.
        seed: of the choice of images, of the map, and of random weights.
        encoder: 'online' or 'target'.
        image_size: of images of a folder.

    Raises:
        UserError: if there are too few images, or the method is not installed.
    """
    if method not in METHODS:
        raise UserError(f'--method {method!r} is none of {", ".join(METHODS)}')
    if clusters is not None and not 2 <= clusters < num_images:
        raise UserError(f'--clusters {clusters} must be 2 or more, and fewer than the images')
    gallery = gallery_of(pictured, num_images, LEAST, image_size, seed)
    features = features_of(encoder_of(pictured, encoder, seed), gallery)
    title, place = METHODS[method]
    try:
        points = place(features, seed)
    except ImportError as error:
        raise UserError(f'--method {method} needs {PACKAGES[method]}: pip install {PACKAGES[method]}') from error
    labels, names = gallery.labels, gallery.class_name
    if labels is None or clusters is not None:
        number = min(clusters or 10, len(features) - 1)
        labels = torch.from_numpy(KMeans(number, n_init=4, random_state=seed).fit_predict(features.numpy())).long()
        names = 'cluster {}'.format
    present = labels.unique().tolist()
    figure = Figure(figsize=(8.2, 6.2), layout='constrained')
    axis = figure.subplots()
    for number, label in enumerate(present):
        members = points[labels == label]
        colour, marker = PALETTE[number % len(PALETTE)], MARKERS[(number + number // len(PALETTE)) % len(MARKERS)]
        name = plain(names(label)) if number < MOST_NAMES else None
        axis.scatter(
            members[:, 0], members[:, 1], s=24, color=colour, marker=marker, alpha=0.75, linewidths=0, label=name
        )
    rest = f' (and {len(present) - MOST_NAMES} more)' if len(present) > MOST_NAMES else ''
    colours = 'class' if names == gallery.class_name else 'k-means'
    axis.legend(title=f'{colours}{rest}', loc='center left', bbox_to_anchor=(1, 0.5), frameon=False, fontsize=8)
    bare(axis)
    axis.set_title(f'{title} of {len(features)} images: {plain(pictured.name, 60)}', fontsize=10)
    if 2 <= len(present) < len(labels):
        parts = {'of the features': cluster_indices(features, labels), 'on the map': cluster_indices(points, labels)}
        said = [f'{at}: DBI {x["davies_bouldin"]:.2f}, CHI {x["calinski_harabasz"]:.0f}' for at, x in parts.items()]
        axis.set_xlabel('\n'.join([*said, '(DBI: lower is better, CHI: higher is better)']), fontsize=8)
    return figure
