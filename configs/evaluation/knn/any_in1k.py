# kNN on ImageNet-1K. Any backbone; by itself ViT-S/16.
_base_ = ['../../_base_/datasets/in1k.py', '../../_base_/evaluation/knn.py']
protocol = dict(resize=256, crop=224)
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
