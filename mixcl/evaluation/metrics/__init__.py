"""Metrics for mmengine's loops and for :class:`~mixcl.evaluation.feature_loop.FeatureLoop`, around the functions of
:mod:`mixcl.evaluation.functional`."""

from mixcl.evaluation.metrics import (
    few_labels_metric,
    knn_metric,
    linear_probe_metric,
    quality_metric,
    robustness_metrics,
    stage_accuracy,
    svm_metric,
)
