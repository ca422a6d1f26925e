# CIFAR-100 with its labels: as CIFAR-10.
_base_ = './cifar10.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=images)
test_dataloader = val_dataloader
data_preprocessor = dict(num_classes=100)
