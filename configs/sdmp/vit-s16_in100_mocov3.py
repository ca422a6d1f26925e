# SDMP on MoCo v3, ViT-S/16 on ImageNet-100, 300 epochs (Table 11: linear 81.8).
_base_ = './vit-s16_in1k_mocov3.py'

data = 'in100'
optimizer = dict(lr=1.5e-4)
batch = 512
