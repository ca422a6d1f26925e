# kNN on CIFAR-10. Any backbone; by itself ViT-S/2.
_base_ = ['../../_base_/datasets/cifar10.py', '../../_base_/evaluation/knn.py']
protocol = dict(resize=36, crop=32)
model = dict(backbone=dict(img_size=32, patch_size=2))
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
