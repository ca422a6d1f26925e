from mixcl.evaluation import (
    feature_loop,
    frozen_encoder,
    knn_metric,
    probe_metric,
    quality_metric,
    robustness_metrics,
    stage_accuracy,
    svm_metric,
)
