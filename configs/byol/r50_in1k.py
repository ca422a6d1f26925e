# BYOL, ResNet-50 on ImageNet-1K: batch 4096 by accumulating 16 of 8 x 32, 200 epochs (BSIM, Table 2: 69.1).
_base_ = [
    '../_base_/models/byol_r50.py',
    '../_base_/datasets/in1k_byol.py',
    '../_base_/schedules/lars_byol_200e.py',
    '../_base_/default_runtime.py',
]
train_dataloader = dict(batch_size=32)
optim_wrapper = dict(accumulative_counts=16)
auto_scale_lr = dict(base_batch_size=256)  # images per process and step; the 4096 of the recipe are accumulated
