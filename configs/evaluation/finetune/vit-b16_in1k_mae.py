# MAE's fine-tuning of ViT-B/16 on ImageNet-1K, on the class token that contrastive backbones learned.
_base_ = [
    '../../_base_/evaluation/datasets/in1k_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/recipes/finetune_mae.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    head=dict(in_channels=768, init_cfg=dict(std=2e-5)),
)
