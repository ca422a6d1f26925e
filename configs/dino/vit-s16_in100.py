# DINO, ViT-S/16 on ImageNet-100: batch 512 (4 x 128), 300 epochs (SDMP, Table 11: linear 82.0).
_base_ = [
    '../_base_/models/dino.py',
    '../_base_/datasets/in100_dino.py',
    '../_base_/schedules/dino_300e.py',
    '../_base_/dino_runtime.py',
]
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
