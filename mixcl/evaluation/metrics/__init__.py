"""mmengine metrics around :mod:`mixcl.evaluation.functional`."""

from mixcl.evaluation.metrics import (
    knn_metric,
    probe_metric,
    quality_metric,
    robustness_metrics,
    stage_accuracy,
    svm_metric,
)
