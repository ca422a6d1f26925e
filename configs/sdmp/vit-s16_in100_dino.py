# SDMP on DINO, ViT-S/16 on ImageNet-100: batch 512 (4 x 128), 300 epochs (Table 11: linear 83.2).
_base_ = './vit-s16_in1k_dino.py'

data = 'in100'
optimizer = dict(lr=5e-4)
batch = 512
