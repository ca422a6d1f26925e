# MoCo v2, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 67.5).
_base_ = [
    '../_base_/models/mocov2_r50.py',
    '../_base_/datasets/in1k_mocov2.py',
    '../_base_/schedules/sgd_cosine_200e.py',
    '../_base_/default_runtime.py',
]
train_dataloader = dict(batch_size=32)
