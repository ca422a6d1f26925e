# BYOL, ViT-S/16 on ImageNet-1K with the heads and the recipe of MoCo v3 (SDMP, Table 1 quotes linear 71.4).
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(objective=dict(_delete_=True, type='NegativeCosine', scale=2.0))
