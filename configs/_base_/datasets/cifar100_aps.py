# CIFAR-100 with a quarter of the patches of each view (APS): as CIFAR-10.
_base_ = './cifar10_aps.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=images)
val_cfg = dict(bank_dataloader=dict(dataset=images))
test_dataloader = val_dataloader
test_cfg = val_cfg
