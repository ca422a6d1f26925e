"""The quality of a representation without a classifier."""

from dataclasses import dataclass

from torch import Tensor

from mixcl.algorithms.contrastive import feature_std
from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes
from mixcl.evaluation.functional.feature_checks import check_labelled
from mixcl.evaluation.functional.quality import class_alignment, effective_rank, uniformity
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class RepresentationQuality(FeatureMetric):
    """Measures of features without a classifier, of the queries and of the classes of the bank.

    Of the queries: ``uniformity``, ``effective_rank``, ``feature_std``, and ``class_alignment``, the mean squared
    distance of images of one class. (The alignment of two views of an image needs augmented views: the pretraining log
    shows it.)

    Of some images of some classes of the bank, as MixCo has it for ten classes of 1,000 training images
    (https://arxiv.org/abs/2010.06300, Fig. 3): ``davies_bouldin`` and ``calinski_harabasz`` on the
    features, ``tsne_davies_bouldin`` and ``tsne_calinski_harabasz`` on their map to two dimensions, and how many there
    were, ``cluster_classes`` and ``cluster_images``, which is less where the data set has fewer. The four indices are
    NaN where all images have the same features.

    Args:
        classes: how many classes are drawn, 2 or more.
        images: how many images of each, 2 or more.
        seed: of the draw and of the map.

    Raises:
        UserError: if ``classes`` or ``images`` are out of range.
    """

    classes: int = 10
    images: int = 1000
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ('classes', 'images'):
            if getattr(self, name) < 2:
                raise UserError(f'RepresentationQuality: {name} must be 2 or more, not {getattr(self, name)!r}')

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        check_labelled('class', query=(queries, labels), bank=(bank, bank_labels))
        measures = dict(
            uniformity=uniformity(queries),
            effective_rank=effective_rank(queries),
            feature_std=feature_std(queries),
            class_alignment=class_alignment(queries, labels.to(queries.device)),
        )
        chosen = some_of_some_classes(bank_labels, self.classes, self.images, self.seed)
        points, classes = bank[chosen], bank_labels[chosen]
        clusters = cluster_indices(points, classes)
        mapped = cluster_indices(map_to_plane(points, self.seed), classes)
        return {
            **{name: value.item() for name, value in measures.items()},
            **clusters,
            **{f'tsne_{name}': value for name, value in mapped.items()},
            'cluster_classes': len(classes.unique()),
            'cluster_images': len(classes),
        }
