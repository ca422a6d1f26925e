from mixcl.evaluation import knn_loop, knn_metric
