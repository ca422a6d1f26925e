# SimMIM, ViT-B/2 on CIFAR-100: batch 512, 1600 epochs (APS, Table 2: fine-tuned 82.8).
_base_ = './vit-b2_cifar10.py'

images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
