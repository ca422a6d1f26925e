# DeiT-S on ImageNet-1K from scratch, 100 epochs (SDMP, Table 2: 75.8).
_base_ = './vit-s16_in1k.py'

train_cfg = dict(max_epochs=100)
