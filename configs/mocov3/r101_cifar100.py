# MoCo v3, ResNet-101 on CIFAR-100: batch 256, 200 epochs; the SGD rate of i-mix (SDMP gives no recipe).
_base_ = [
    '../_base_/models/mocov3_r50_cifar.py',
    '../_base_/datasets/cifar100_plain.py',
    '../_base_/schedules/sgd_cosine_200e.py',
    '../_base_/default_runtime.py',
]
model = dict(backbone=dict(depth=101))
train_dataloader = dict(batch_size=256)
optim_wrapper = dict(optimizer=dict(lr=0.125))
