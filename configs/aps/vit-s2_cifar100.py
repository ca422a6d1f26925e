# APS, ViT-S/2 on CIFAR-100: batch 512, 1600 epochs (Table 2: fine-tuned 84.8; 3200: schedule.epochs=3200).
_base_ = './vit-s2_cifar10.py'

data = 'cifar100'
