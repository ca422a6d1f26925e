# APS, ViT-B/16 on ImageNet-1K, fine-tuned (Table 1: 84.2). No recipe is published: MAE's.
_base_ = './vit-b16_in1k_mae.py'
