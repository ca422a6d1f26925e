# As r18_folder_mixed.py, DINOv3's ViT-S/16 (Meta's DINOv3 licence) into ConvNeXt-T.
_base_ = './r18_folder_mixed.py'

model = dict(
    backbone=dict(_delete_=True, type='TimmBackbone', name='convnext_tiny'),
    target=dict(backbone=dict(name='vit_small_patch16_dinov3'), pretrained='timm:vit_small_patch16_dinov3.lvd1689m'),
)
