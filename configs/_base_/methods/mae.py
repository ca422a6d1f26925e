# MAE on ViT-S/16: mmpretrain's algorithm. Three quarters of the patches are dropped; a decoder reconstructs them.
model = dict(
    type='MAE',
    backbone=dict(
        type='mmpretrain.MAEViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        img_size=224,
        patch_size=16,
        mask_ratio=0.75,
        out_type='featmap',  # for whole images: evaluations average it over the patches
    ),
    neck=dict(
        type='mmpretrain.MAEPretrainDecoder',
        num_patches=196,
        patch_size=16,
        embed_dim=384,
        decoder_embed_dim=512,
        decoder_depth=8,
        decoder_num_heads=16,
    ),
    head=dict(
        type='mmpretrain.MAEPretrainHead',
        norm_pix=True,
        patch_size=16,
        loss=dict(type='mmpretrain.PixelReconstructionLoss', criterion='L2'),
    ),
    init_cfg=[
        dict(type='Xavier', layer='Linear', distribution='uniform'),
        dict(type='Constant', layer='LayerNorm', val=1.0, bias=0.0),
    ],
)
# AdamW; learning rate 1.5e-4 per 256 images; 40 epochs of warm-up, then cosine to 0.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=2.4e-3, betas=(0.9, 0.95), weight_decay=0.05),
    paramwise_cfg=dict(flat_decay_mult=0.0),
)
param_scheduler = [dict(type='MoCoV3CosineLR', warmup=40, final=0.0, by_epoch=True, convert_to_iter_based=True)]
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(type='PretrainLoop', max_epochs=1600, val_interval=20)
