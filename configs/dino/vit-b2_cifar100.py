# DINO, ViT-B/2 on CIFAR-100: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = './vit-s2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(in_channels=768, normalised_prototypes=True),
)
images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
