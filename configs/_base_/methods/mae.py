# MAE on ViT-S/16: mmpretrain's algorithm. Three quarters of the patches are dropped; a decoder reconstructs them.
model = dict(
    type='MAE',
    backbone=dict(
        type='mmpretrain.MAEViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=6, feedforward_channels=1536),
        patch_size=16,
        mask_ratio=0.75,
        out_type='featmap',  # for whole images: evaluations average it over the patches
    ),
    neck=dict(
        type='mmpretrain.MAEPretrainDecoder',
        decoder_embed_dim=512,
        decoder_depth=8,
        decoder_num_heads=16,
    ),
    head=dict(
        type='mmpretrain.MAEPretrainHead',
        norm_pix=True,
        loss=dict(type='mmpretrain.PixelReconstructionLoss', criterion='L2'),
    ),
    init_cfg=[
        dict(type='Xavier', layer='Linear', distribution='uniform'),
        dict(type='Constant', layer='LayerNorm', val=1.0, bias=0.0),
    ],
)
views = dict(view1=dict(crop=(0.2, 1.0), steps=['flip']))
# AdamW; learning rate 1.5e-4 per 256 images; 40 epochs of warm-up, then cosine to 0.
optimizer = dict(type='AdamW', lr=1.5e-4, betas=(0.9, 0.95), weight_decay=0.05, spare='flat')
schedule = dict(type='MoCoV3CosineLR', epochs=1600, warmup=40, final=0.0)
batch = 4096
accumulate = True  # images are not compared with each other
measure = dict(every=20)
