# kNN on Fashion-MNIST. Any backbone; by itself the small ViT of configs/patchmix/vit-xs4_fashionmnist.py.
_base_ = ['../../_base_/datasets/fashionmnist.py', '../../_base_/evaluation/knn.py']
protocol = dict(resize=32, crop=28)
model = dict(
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384), img_size=28, patch_size=4
    )
)
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
