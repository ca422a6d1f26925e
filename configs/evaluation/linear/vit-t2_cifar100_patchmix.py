# PatchMix, ViT-T/2 on CIFAR-100: linear probe (Table 3: 74.7).
_base_ = './any_cifar100.py'

model = dict(
    backbone=dict(backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768))),
    head=dict(in_channels=192),
)
optim_wrapper = dict(optimizer=dict(lr=0.05))
protocol = dict(encoder='online')  # the authors' ViT-T has no momentum encoder
