# SimMIM on ViT-B/16: mmpretrain's algorithm. Sixty percent of the image is masked in blocks of 2x2 patches; a linear
# layer predicts the masked pixels. The pipeline makes the masks; `mask` is the method's own step at 224 pixels.
model = dict(
    type='SimMIM',
    backbone=dict(
        type='DINOViT',  # weights from a truncated normal of .02
        arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072),
        img_size=224,
        patch_size=16,
        drop_path_rate=0.1,
        position_offset=0.0,
        mask_token=True,
        out_type='featmap',  # also for whole images: evaluations average it over the patches
    ),
    neck=dict(type='mmpretrain.SimMIMLinearDecoder', in_channels=768, encoder_stride=16),
    head=dict(
        type='mmpretrain.SimMIMHead',
        patch_size=16,
        loss=dict(type='mmpretrain.PixelReconstructionLoss', criterion='L1', channel=3),
    ),
)
mask = dict(
    type='mmpretrain.SimMIMMaskGenerator', input_size=224, mask_patch_size=32, model_patch_size=16, mask_ratio=0.6
)
# AdamW; learning rate 1e-4 per 512 images; 10 epochs of warm-up, a tenth of the rate for the last eighth of the run.
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='AdamW', lr=4e-4, betas=(0.9, 0.999), weight_decay=0.05),
    paramwise_cfg=dict(
        flat_decay_mult=0.0,
        custom_keys={'.cls_token': dict(decay_mult=0.0), '.pos_embed': dict(decay_mult=0.0)},
    ),
    clip_grad=dict(max_norm=5.0),
)
param_scheduler = [
    dict(type='LinearLR', start_factor=5e-3, by_epoch=True, end=10, convert_to_iter_based=True),
    dict(type='MultiStepLR', milestones=[700], gamma=0.1, by_epoch=True),
]
auto_scale_lr = dict(base_batch_size=2048)
train_cfg = dict(type='PretrainLoop', max_epochs=800, val_interval=10)
