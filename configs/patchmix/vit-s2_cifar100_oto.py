# The frame of PatchMix with its origin-to-origin term only: nothing is mixed (first row of Table 7).
_base_ = './vit-s2_cifar10.py'

model = dict(terms=[('view1', 'view2', 1.0)])
images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
