# CIFAR-100 with two equal views, without blur (i-mix, SDMP): as CIFAR-10.
_base_ = './cifar10_plain.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=images)
val_cfg = dict(bank_dataloader=dict(dataset=images))
test_dataloader = val_dataloader
test_cfg = val_cfg
