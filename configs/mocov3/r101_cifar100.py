# MoCo v3, ResNet-101 on CIFAR-100: batch 256, 200 epochs; the SGD rate of i-mix (SDMP gives no recipe).
_base_ = './r101_cifar10.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
