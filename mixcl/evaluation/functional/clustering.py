"""Quality of classes as clusters, in features and in their map to two dimensions."""

import math

import torch
from torch import Tensor

from mixcl.errors import UserError
from mixcl.randomness import generator, seed_of

PERPLEXITY = 30.0


def cluster_indices(features: Tensor, labels: Tensor) -> dict[str, float]:
    """Compute scikit-learn's Davies-Bouldin (lower is better) and Calinski-Harabasz (higher) indices of the classes.

    Features are (N, D), labels (N,) int64 classes. Both are NaN if all features are the same (scikit-learn's 0 and 1
    would read as the best and a poor clustering).

    Raises:
        UserError: if there are fewer than two classes, or no class has two images.
    """
    from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score  # importing scikit-learn takes seconds

    classes = len(labels.unique())
    if not 2 <= classes < len(labels):
        raise UserError(
            f'clustering indices need two classes or more, one of them with two images or more, but the {len(labels)} '
            f'images have {classes} classes; check the data set, or classes= and images= of the metric'
        )
    points = _spread(features)
    scores = dict(davies_bouldin=davies_bouldin_score, calinski_harabasz=calinski_harabasz_score)
    if points is None:
        return dict.fromkeys(scores, math.nan)
    return {name: float(score(points.numpy(), labels.cpu().numpy())) for name, score in scores.items()}


def map_to_plane(features: Tensor, seed: int = 0) -> Tensor:
    """Map features to two dimensions by t-SNE (scikit-learn's, perplexity 30, from the principal components).

    Source: van der Maaten and Hinton, Visualizing data using t-SNE, JMLR 2008.

    Features (N, D), with D of at least 2, become (N, 2) float32 on the CPU: NaN if all are the same, for which
    scikit-learn ends the whole process. Fewer than 92 rows get a perplexity of a third of the other rows.
    """
    from sklearn.manifold import TSNE

    spread = _spread(features)
    if spread is None:
        return torch.full((len(features), 2), torch.nan)
    perplexity = min(PERPLEXITY, (len(features) - 1) / 3)
    tsne = TSNE(perplexity=perplexity, init='pca', random_state=seed_of('t-SNE', seed) % 2**32)
    return torch.from_numpy(tsne.fit_transform(spread.float().numpy()))


def some_of_some_classes(labels: Tensor, classes: int = 10, images: int = 1000, seed: int = 0) -> Tensor:
    """Draw some images of each of some classes, as MixCo does for its maps (https://arxiv.org/abs/2010.06300, Fig. 3).

    The indices into the labels (N,) are ascending, int64 on the CPU, and a function of labels and seed. If there are
    fewer classes, or fewer images of one, all are taken.
    """
    labels = labels.cpu()
    present = labels.unique()
    chosen = present[torch.randperm(len(present), generator=generator('classes', seed))[:classes]]
    parts = []
    for label in chosen.tolist():
        members = (labels == label).nonzero().flatten()
        parts.append(members[torch.randperm(len(members), generator=generator('images', seed, label))[:images]])
    return torch.cat(parts).sort().values


def _spread(features: Tensor) -> Tensor | None:
    """Shift features (N, D) so that the first is 0, and scale them to at most 1; float64 on the CPU, None if all equal.

    Indices and maps do not depend on origin and scale, but squares of very small numbers would vanish in them.
    """
    features = features.double().cpu()
    shifted = features - features[:1]
    extent = shifted.abs().max()
    return shifted / extent if extent > 0 else None
