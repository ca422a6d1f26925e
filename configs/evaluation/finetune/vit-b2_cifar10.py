# ViT-B/2 on CIFAR-10, fine-tuned as in all rows of Table 3 of PatchMix (its own: 98.3).
_base_ = './any_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    head=dict(in_channels=768),
)
