# SimMIM, ViT-S/2 on CIFAR-100: batch 512, 1600 epochs (APS, Table 2: fine-tuned 83.2).
_base_ = './vit-b2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536)),
    neck=dict(in_channels=384),
)
images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
