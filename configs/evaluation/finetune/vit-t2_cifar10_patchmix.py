# PatchMix, ViT-T/2 on CIFAR-10, fine-tuned (Table 3: 97.5).
_base_ = './any_cifar10.py'

model = dict(
    backbone=dict(arch=dict(embed_dims=192, num_layers=12, num_heads=3, feedforward_channels=768)),
    head=dict(in_channels=192),
)
optim_wrapper = dict(optimizer=dict(lr=1e-3))
protocol = dict(encoder='online')  # the authors' ViT-T has no momentum encoder
