"""Measures of frozen features that wrap the functions of :mod:`mixcl.evaluation.functional`."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
from torch import Tensor

from mixcl.algorithms.contrastive import feature_std
from mixcl.evaluation.functional import few_labels, knn
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes
from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep
from mixcl.evaluation.metrics.base import CheckedMetric, FeatureMetric
from mixcl.feature_statistics import class_alignment, effective_rank, uniformity
from mixcl.registry import METRICS


@METRICS.register_module()
@dataclass
class KNNAccuracy(CheckedMetric):
    """Accuracy of weighted nearest neighbours.

    See :func:`~mixcl.evaluation.functional.knn.knn_accuracy`, also for the arguments.
    """

    neighbours: Sequence[int] = knn.NEIGHBOURS
    temperature: float = knn.TEMPERATURE

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return knn.knn_accuracy(queries, labels, bank, bank_labels, **asdict(self))


@METRICS.register_module()
class LinearProbeSweep(ProbeSettings, FeatureMetric):
    """Linear probes at many learning rates: :func:`~mixcl.evaluation.functional.linear_probe.probe_sweep`.

    Arguments same as :class:`~mixcl.evaluation.functional.linear_probe.ProbeSettings`.
    """

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return probe_sweep(bank, bank_labels, queries, labels, self)


@METRICS.register_module()
@dataclass
class FewLabels(CheckedMetric):
    """Top-1 accuracies, in percent, of class means and logistic regression on k labelled images of each class.

    The keys are ``few{k}_{measure}``, the mean over the draws of labelled images, ``few{k}_{measure}_std``, their
    sample standard deviation (0 for one draw), and ``few{k}_{measure}_draw{n}`` for each draw, from n = 0. All
    checkpoints share the draws. See :func:`~mixcl.evaluation.functional.few_labels.few_label_answers`, also for the
    arguments.
    """

    shots: Sequence[int] = few_labels.SHOTS
    draws: int = few_labels.DRAWS
    seed: int = 0

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        values: dict[str, float] = {}
        answered = few_labels.few_label_answers(bank, bank_labels, queries, **asdict(self))
        for (shot, measure), answers in answered.items():
            accuracies = (100 * (answers == labels.cpu()).double().mean(dim=1)).tolist()
            name = f'few{shot}_{measure}'
            values[name] = float(np.mean(accuracies))
            values[f'{name}_std'] = float(np.std(accuracies, ddof=1)) if self.draws > 1 else 0.0
            values |= {f'{name}_draw{draw}': accuracy for draw, accuracy in enumerate(accuracies)}
        return values


@METRICS.register_module()
@dataclass
class RepresentationQuality(CheckedMetric):
    """Measures of features without a classifier, of the queries and of the classes of the bank.

    Computed on the queries: ``uniformity``, ``effective_rank``, ``feature_std``, and ``class_alignment``. (The
    alignment of two views of an image needs augmented views: the pretraining log shows it.)

    Computed on some images of some classes of the bank (MixCo takes ten classes of 1,000 training images,
    https://arxiv.org/abs/2010.06300, Fig. 3): ``davies_bouldin`` and ``calinski_harabasz`` of the features,
    ``tsne_davies_bouldin`` and ``tsne_calinski_harabasz`` of their map to two dimensions (NaN if all images have the
    same features), and how many there were, ``cluster_classes`` and ``cluster_images``.

    Args:
        classes: number of classes that are drawn, 2 or more.
        images: number of images of each, 2 or more.
        seed: of the draw and of the map.
    """

    classes: int = 10
    images: int = 1000
    seed: int = 0

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        check_finite(query=queries, bank=bank)
        measures = dict(
            uniformity=uniformity(queries),
            effective_rank=effective_rank(queries),
            feature_std=feature_std(queries),
            class_alignment=class_alignment(queries, labels.to(queries.device)),
        )
        chosen = some_of_some_classes(bank_labels, self.classes, self.images, self.seed)
        points, classes = bank[chosen], bank_labels[chosen]
        mapped = cluster_indices(map_to_plane(points, self.seed), classes)
        return {
            **{name: value.item() for name, value in measures.items()},
            **cluster_indices(points, classes),
            **{f'tsne_{name}': value for name, value in mapped.items()},
            'cluster_classes': len(classes.unique()),
            'cluster_images': len(classes),
        }
