# iBOT, ViT-S/2 on CIFAR-10: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = ['../_base_/methods/ibot.py', '../_base_/data/cifar10.py']

model = dict(
    backbone=dict(
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        patch_size=2,
    ),
)
views = dict(local=dict(size=16))
optimizer = dict(lr=5e-4)
batch = 512
