# DeiT-S on ImageNet-1K from scratch, 300 epochs (SDMP, Tables 1 and 2: 79.8).
_base_ = '../finetune/vit-s16_in1k_sdmp.py'

model = dict(
    backbone=dict(
        _delete_=True,
        type='mmpretrain.VisionTransformer',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        drop_path_rate=0.1,
    ),
    init_cfg=[
        dict(type='TruncNormal', layer='Linear', std=0.02),
        dict(type='Constant', layer='LayerNorm', val=1.0, bias=0.0),
    ],
)
train_cfg = dict(max_epochs=300)
protocol = dict(name='supervised')
