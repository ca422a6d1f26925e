# DINO, ViT-B/2 on CIFAR-100: batch 512, 800 epochs, the rates per image of the ImageNet recipe.
_base_ = [
    '../_base_/models/dino.py',
    '../_base_/datasets/cifar100_dino.py',
    '../_base_/schedules/dino_300e.py',
    '../_base_/dino_runtime.py',
]
model = dict(
    backbone=dict(
        arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072),
        img_size=32,
        patch_size=2,
    ),
    neck=dict(in_channels=768, normalised_prototypes=True),
    objective=dict(warmup=30 / 800),  # the teacher's temperature rises for 30 epochs
)
optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
