# DINO, ViT-S/2 on CIFAR-10: batch 512, 800 epochs, the rates per image of the ImageNet recipe.
_base_ = [
    '../_base_/models/dino.py',
    '../_base_/datasets/cifar10_dino.py',
    '../_base_/schedules/dino_300e.py',
    '../_base_/dino_runtime.py',
]
model = dict(
    backbone=dict(
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        img_size=32,
        patch_size=2,
    ),
    neck=dict(in_channels=384),
    objective=dict(warmup=30 / 800),  # the teacher's temperature rises for 30 epochs
)
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
