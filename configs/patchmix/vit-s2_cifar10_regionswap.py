# The frame of PatchMix with RegionSwap (cells of 4 pixels: the grid of 32 is 8x8), ViT-S/2 on CIFAR-10 (Table 5).
_base_ = './vit-s2_cifar10.py'

model = dict(
    mixer=dict(_delete_=True, type='RegionSwap'),
)
