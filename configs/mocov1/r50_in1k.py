# MoCo v1, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 61.0).
_base_ = [
    '../_base_/models/mocov1_r50.py',
    '../_base_/datasets/in1k_mocov1.py',
    '../_base_/schedules/sgd_steps_200e.py',
    '../_base_/default_runtime.py',
]
train_dataloader = dict(batch_size=32)
