# DINOv2's ViT-S/14 (timm, Apache-2.0) into ResNet-18 on your own images: --data-root DIR.
_base_ = ['../_base_/methods/distillation.py', '../_base_/data/folder.py']

model = dict(
    backbone=dict(type='TorchvisionBackbone', name='resnet18'),
    target=dict(
        backbone=dict(type='TimmBackbone', name='vit_small_patch14_dinov2'),
        pretrained='timm:vit_small_patch14_dinov2.lvd142m',
    ),
)
