# APS, ViT-B/2 on CIFAR-100: batch 512, 1600 epochs (Table 2: fine-tuned 85.1; 3200: train_cfg.max_epochs=3200).
_base_ = [
    '../_base_/models/aps_cifar.py',
    '../_base_/datasets/cifar100_aps.py',
    '../_base_/schedules/aps_1600e_cifar.py',
    '../_base_/default_runtime.py',
]
model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(in_channels=768),
)
