# Linear probe on Fashion-MNIST, PatchMix's recipe. Rate and length are not from the paper.
_base_ = [
    '../../_base_/evaluation/datasets/fashionmnist.py',
    '../../_base_/evaluation/models/probe_vit-xs4.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(backbone=dict(backbone=dict(img_size=28)))
optim_wrapper = dict(optimizer=dict(lr=0.2))
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(max_epochs=20, val_interval=5)
