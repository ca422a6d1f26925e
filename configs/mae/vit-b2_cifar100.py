# MAE, ViT-B/2 on CIFAR-100: batch 512, 1600 epochs (APS, Table 2: fine-tuned 72.3).
_base_ = './vit-s2_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(decoder_embed_dim=768, decoder_num_heads=12),
)
data = 'cifar100'
