# The frame of PatchMix with ResizeMix, which is SDMP, ViT-S/2 on CIFAR-100 (Table 5).
_base_ = './vit-s2_cifar10.py'

model = dict(
    mixer=dict(_delete_=True, type='ResizeMix'),
)
data = 'cifar100'
