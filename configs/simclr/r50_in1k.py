# SimCLR, ResNet-50 on ImageNet-1K: batch 256 (8 x 32), 200 epochs (BSIM, Table 2: linear 61.6).
_base_ = [
    '../_base_/models/simclr_r50.py',
    '../_base_/datasets/in1k_simclr.py',
    '../_base_/schedules/lars_simclr_200e.py',
    '../_base_/default_runtime.py',
]
train_dataloader = dict(batch_size=32)
