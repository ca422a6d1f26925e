# MoCo v3, ViT-S/16 on your own images: --data-root DIR. One GPU, batch 128, 300 epochs of the ImageNet recipe.
_base_ = [
    '../_base_/models/mocov3.py',
    '../_base_/datasets/folder_mocov3.py',
    '../_base_/schedules/mocov3_300e.py',
    '../_base_/default_runtime.py',
]
auto_scale_lr = dict(base_batch_size=4096, enable=True)  # the recipe is for 4096 images: scaled to what you run
train_cfg = dict(val_interval=300)
