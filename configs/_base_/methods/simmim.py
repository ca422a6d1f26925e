# SimMIM on ViT-B/16: mmpretrain's algorithm. Sixty percent of the image is masked in blocks of 2x2 patches; a linear
# layer predicts the masked pixels. The pipeline makes the masks.
model = dict(
    type='SimMIM',
    backbone=dict(
        type='DINOViT',  # weights from a truncated normal of .02
        arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072),
        patch_size=16,
        drop_path_rate=0.1,
        position_offset=0.0,
        mask_token=True,
        out_type='featmap',  # also for whole images: evaluations average it over the patches
    ),
    neck=dict(type='mmpretrain.SimMIMLinearDecoder'),
    head=dict(
        type='mmpretrain.SimMIMHead',
        loss=dict(type='mmpretrain.PixelReconstructionLoss', criterion='L1', channel=3),
    ),
)
views = dict(
    view1=dict(crop=(0.67, 1.0), interpolation='bilinear', steps=['flip']),
    after=[dict(type='mmpretrain.SimMIMMaskGenerator', mask_patch_size=32, mask_ratio=0.6)],
)
# AdamW; learning rate 1e-4 per 512 images; 10 epochs of warm-up, a tenth of the rate for the last eighth of the run.
optimizer = dict(type='AdamW', lr=5e-5, betas=(0.9, 0.999), weight_decay=0.05, spare='named', clip=5.0)
schedule = dict(type='MultiStepLR', epochs=800, warmup=10, start_factor=5e-3, milestones=[700], gamma=0.1, per='epoch')
batch = 2048
accumulate = True  # images are not compared with each other
