# iBOT, ViT-S/2 on CIFAR-100: batch 512, 800 epochs, the ImageNet recipe's rates per image.
_base_ = './vit-s2_cifar10.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
