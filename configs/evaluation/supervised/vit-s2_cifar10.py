# ViT-S/2 on CIFAR-10 from scratch, 300 epochs (APS, Table 2: 90.3). The recipe of APS' fine-tuning.
_base_ = '../finetune/vit-s2_cifar10_aps.py'

train_cfg = dict(max_epochs=300)
protocol = dict(name='supervised')
