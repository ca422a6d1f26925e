# i-mix on MoCo v3, ResNet-50 on CIFAR-100.
_base_ = './r50_cifar10_mocov3.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
