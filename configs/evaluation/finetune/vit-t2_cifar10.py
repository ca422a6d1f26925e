# ViT-T/2 on CIFAR-10, fine-tuned as in all rows of Table 3 of PatchMix (its own: 97.5).
_base_ = './any_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)),
    head=dict(in_channels=192),
)
optim_wrapper = dict(optimizer=dict(lr=1e-3))
