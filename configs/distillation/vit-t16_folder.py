# DINOv2's ViT-S/14 (timm, Apache-2.0) into ViT-T/16 on your own images: --data-root DIR.
_base_ = './r18_folder.py'

model = dict(backbone=dict(_delete_=True, type='TimmBackbone', name='vit_tiny_patch16_224'))
