# Linear probe on CIFAR-100, PatchMix's recipe: batch 256 (learning rate of ViT-S).
_base_ = [
    '../../_base_/evaluation/datasets/cifar100.py',
    '../../_base_/evaluation/models/probe_vit-s2.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=100))
optim_wrapper = dict(optimizer=dict(lr=0.02))
auto_scale_lr = dict(base_batch_size=256)
