# kNN on scikit-learn's digits. Any backbone; by itself the quick start's small ViT.
_base_ = ['../../_base_/datasets/digits.py', '../../_base_/evaluation/knn.py']
protocol = dict(resize=16, crop=16)
model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384), img_size=16, patch_size=4
    )
)
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
