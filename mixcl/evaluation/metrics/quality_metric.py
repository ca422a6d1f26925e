"""The quality of a representation without a classifier."""

from dataclasses import dataclass

from torch import Tensor

from mixcl.algorithms.contrastive import feature_std
from mixcl.errors import UserError
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes
from mixcl.evaluation.functional.feature_checks import check_features
from mixcl.evaluation.functional.quality import class_alignment, effective_rank, uniformity
from mixcl.evaluation.metrics.feature_metric import FeatureMetric
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class RepresentationQuality(FeatureMetric):
    """Measures of features without a classifier, of the queries without labels and of the bank with them.

    Of the queries: ``uniformity``, ``effective_rank`` and ``feature_std``; where there are labels,
    ``class_alignment``, the mean squared distance of images of one class. (The alignment of two views of an image
    needs augmented views: the pretraining log shows it.)

    Where there are labels, of some images of some classes of the bank, as MixCo has it for ten classes of 1,000
    training images (https://arxiv.org/abs/2010.06300, Fig. 3): ``davies_bouldin`` and ``calinski_harabasz`` on the
    features, ``tsne_davies_bouldin`` and ``tsne_calinski_harabasz`` on their map to two dimensions, and how many there
    were, ``cluster_classes`` and ``cluster_images``, which is less where the data set has fewer.

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

    def compute(
        self, bank: Tensor, bank_labels: Tensor | None, queries: Tensor, labels: Tensor | None
    ) -> dict[str, float]:
        check_features(query=queries, bank=bank)
        if len(queries) < 2:
            raise UserError('the quality of a representation needs two images or more, not 1: check the data set')
        measures = dict(
            uniformity=uniformity(queries), effective_rank=effective_rank(queries), feature_std=feature_std(queries)
        )
        if labels is not None:
            measures['class_alignment'] = class_alignment(queries, labels.to(queries.device))
        values = {name: value.item() for name, value in measures.items()}
        return values if bank_labels is None else values | self._clusters(bank, bank_labels)

    def _clusters(self, bank: Tensor, labels: Tensor) -> dict[str, float]:
        chosen = some_of_some_classes(labels, self.classes, self.images, self.seed)
        features, labels = bank[chosen], labels[chosen]
        counts = dict(cluster_classes=len(labels.unique()), cluster_images=len(labels))
        mapped = cluster_indices(map_to_plane(features, self.seed), labels)
        return cluster_indices(features, labels) | {f'tsne_{name}': value for name, value in mapped.items()} | counts
