# ViT-B/2 on CIFAR-100: linear probe as in all rows of Table 3 of PatchMix (its own: 79.7).
_base_ = './any_cifar100.py'

model = dict(
    backbone=dict(backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072))),
    head=dict(in_channels=768),
)
optim_wrapper = dict(optimizer=dict(lr=0.01))
