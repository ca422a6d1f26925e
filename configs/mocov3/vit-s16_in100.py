# MoCo v3, ViT-S/16 on ImageNet-100: batch 512 (4 x 128), 300 epochs (SDMP, Table 11: linear 79.1).
_base_ = './vit-s16_in1k.py'

data = 'in100'
optimizer = dict(lr=1.5e-4)
batch = 512
