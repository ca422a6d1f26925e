# ViT-S/2 on CIFAR-100 from scratch, 300 epochs (APS, Table 2: 68.9). The recipe of APS' fine-tuning.
_base_ = '../finetune/vit-s2_cifar100_aps.py'

train_cfg = dict(max_epochs=300)
protocol = dict(name='supervised')
