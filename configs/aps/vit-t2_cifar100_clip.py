# APS, ViT-T/2 on CIFAR-100 with the adaptive clip of the ImageNet recipe (Table 7).
_base_ = './vit-t2_cifar10.py'

hooks = dict(clip=dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05))
data = 'cifar100'
