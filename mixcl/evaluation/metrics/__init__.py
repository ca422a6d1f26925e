"""Metrics for mmengine's loops and for :class:`~mixcl.evaluation.feature_loop.FeatureLoop`."""

from mixcl.evaluation.metrics import feature_metrics, mean_iou, robustness_metrics, stage_accuracy, svm_metrics
