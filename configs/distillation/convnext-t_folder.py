# DINOv3's ViT-S/16 (timm; Meta's DINOv3 licence) into ConvNeXt-T on your own images: --data-root DIR.
_base_ = './r18_folder.py'

model = dict(
    backbone=dict(_delete_=True, type='TimmBackbone', name='convnext_tiny'),
    target=dict(backbone=dict(name='vit_small_patch16_dinov3'), pretrained='timm:vit_small_patch16_dinov3.lvd1689m'),
)
