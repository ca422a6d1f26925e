# APS, ViT-T/2 on CIFAR-100 with the adaptive clip of the ImageNet recipe (Table 7).
_base_ = './vit-t2_cifar10.py'

custom_hooks = [*_base_.custom_hooks, dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05)]
images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
