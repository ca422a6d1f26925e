# SDMP on MoCo v3, ResNet-50 on CIFAR-100, 200 epochs (2000: train_cfg.max_epochs=2000).
_base_ = './r50_cifar10_mocov3.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
