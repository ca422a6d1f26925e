# SimMIM, ViT-B/2 on CIFAR-100: batch 512, 1600 epochs (APS, Table 2: fine-tuned 82.8).
_base_ = './vit-b2_cifar10.py'

data = 'cifar100'
