# PatchMix, ViT-S/16 on your own images: --data-root DIR. One GPU, batch 128, 300 epochs of the ImageNet recipe.
_base_ = [
    '../_base_/models/patchmix.py',
    '../_base_/datasets/folder.py',
    '../_base_/schedules/patchmix_300e.py',
    '../_base_/default_runtime.py',
]
auto_scale_lr = dict(base_batch_size=1024, enable=True)  # the recipe is for 1024 images: scaled to what you run
train_cfg = dict(val_interval=300)
