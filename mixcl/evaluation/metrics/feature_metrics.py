"""Measures of frozen features, around the functions of :mod:`mixcl.evaluation.functional`."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from torch import Tensor

from mixcl.algorithms.contrastive import feature_std
from mixcl.evaluation.functional import few_labels, knn, low_shot, svm
from mixcl.evaluation.functional.clustering import cluster_indices, map_to_plane, some_of_some_classes
from mixcl.evaluation.functional.feature_checks import check_finite
from mixcl.evaluation.functional.linear_probe import ProbeSettings, probe_sweep
from mixcl.evaluation.functional.quality import class_alignment, effective_rank, uniformity
from mixcl.evaluation.functional.setting_checks import check_settings
from mixcl.registry import METRICS


class FeatureMetric(ABC):
    """A measure of the features of one data set (the queries), given those of another (the bank).

    Stands in ``test_evaluator`` or ``val_evaluator`` of a :class:`~mixcl.evaluation.feature_loop.FeatureLoop`, which
    collects the features of all processes and lets the main process compute.
    """

    @abstractmethod
    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        """Measure.

        Args:
            bank: (Nb, D) float32 in data set order, usually of the training images; on the CPU.
            bank_labels: (Nb,) int64 classes, or (Nb, C) int8 presence (1 present, 0 difficult only, -1 absent); on the
                CPU.
            queries: (Nq, D) float32 in data set order, on the device of the model.
            labels: of the queries, as those of the bank.

        Returns:
            values by name; shares in percent.
        """


class CheckedMetric(FeatureMetric):
    """A measure that refuses settings out of range when it is built: before anything is encoded."""

    def __post_init__(self) -> None:
        check_settings(type(self).__name__, vars(self))


@METRICS.register_module()
@dataclass
class KNNAccuracy(CheckedMetric):
    """Accuracy of weighted nearest neighbours: :func:`~mixcl.evaluation.functional.knn.knn_accuracy`.

    Args:
        neighbours: values of k, each 1 or more; one larger than the bank uses the whole bank.
        temperature: of the vote, above 0.
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
    """Class means and logistic regression on k labels per class, over draws of labels that all checkpoints share.

    Values and arguments: :func:`~mixcl.evaluation.functional.few_labels.few_label_accuracies`.
    """

    shots: Sequence[int] = few_labels.SHOTS
    draws: int = few_labels.DRAWS
    seed: int = 0

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return few_labels.few_label_accuracies(bank, bank_labels, queries, labels, **asdict(self))


@METRICS.register_module()
@dataclass
class VOCSVM(CheckedMetric):
    """One linear SVM per class: :func:`~mixcl.evaluation.functional.svm.svm_mean_average_precisions`.

    Args:
        costs: candidates for the SVM's C, each above 0.
        seed: of liblinear.
        jobs: processes; each needs about 24 bytes per training value. -1: one per CPU core.
    """

    costs: Sequence[float] = svm.COSTS
    seed: int = 0
    jobs: int = 1

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return svm.svm_mean_average_precisions(bank, bank_labels, queries, labels, **asdict(self))


@METRICS.register_module()
@dataclass
class VOCLowShot(VOCSVM):
    """Linear SVMs on few images: :func:`~mixcl.evaluation.functional.low_shot.low_shot_mean_average_precisions`.

    Args:
        shots: values of k, 1 or more, each with so many random ``samples``; the others same as :class:`VOCSVM`.
    """

    shots: Sequence[int] = low_shot.SHOTS
    samples: int = low_shot.SAMPLES

    def compute(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        return low_shot.low_shot_mean_average_precisions(bank, bank_labels, queries, labels, **asdict(self))


@METRICS.register_module()
@dataclass
class RepresentationQuality(CheckedMetric):
    """Measures of features without a classifier, of the queries and of the classes of the bank.

    Of the queries: ``uniformity``, ``effective_rank``, ``feature_std``, and ``class_alignment``. (The alignment of two
    views of an image needs augmented views: the pretraining log shows it.)

    Of some images of some classes of the bank, as MixCo has it for ten classes of 1,000 training images
    (https://arxiv.org/abs/2010.06300, Fig. 3): ``davies_bouldin`` and ``calinski_harabasz`` of the features,
    ``tsne_davies_bouldin`` and ``tsne_calinski_harabasz`` of their map to two dimensions (NaN where all images have the
    same features), and how many there were, ``cluster_classes`` and ``cluster_images``.

    Args:
        classes: how many classes are drawn, 2 or more.
        images: how many images of each, 2 or more.
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
