# MoCo v3, ViT-S/16 on ImageNet-100: batch 512 (4 x 128), 300 epochs (SDMP, Table 11: linear 79.1).
_base_ = [
    '../_base_/models/mocov3.py',
    '../_base_/datasets/in100.py',
    '../_base_/schedules/mocov3_300e.py',
    '../_base_/default_runtime.py',
]
optim_wrapper = dict(optimizer=dict(lr=3e-4))  # 1.5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
