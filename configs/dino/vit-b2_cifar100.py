# DINO, ViT-B/2 on CIFAR-100: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = './vit-s2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(normalised_prototypes=True),
)
data = 'cifar100'
