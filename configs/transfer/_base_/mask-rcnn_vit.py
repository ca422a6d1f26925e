# Mask R-CNN with a plain ViT-B/16 on COCO with large-scale jitter at 1024 pixels, batch 64: ViTDet's recipe but for the
# length of the schedule.
_base_ = [
    './detection.py',
    './coco.py',
    'mmdet::_base_/models/mask-rcnn_r50_fpn.py',
    'mmdet::common/lsj-100e_coco-instance.py',
]
layer_norm = dict(type='mmpretrain.LN2d', eps=1e-6)
# For bfloat16 (--amp), which mmcv's operators do not support; the functions are the same.
roi_align = dict(roi_layer=dict(use_torchvision=True))
model = dict(
    data_preprocessor=dict(pad_size_divisor=1024),  # always 1024 x 1024
    backbone=dict(
        _delete_=True,
        type='mixcl.DetectionViT',
        arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072),
        global_blocks=(2, 5, 8, 11),
        img_size=1024,
        drop_path_rate=0.1,
    ),
    neck=dict(_delete_=True, type='mixcl.SimpleFeaturePyramid', in_channels=768, norm_cfg=layer_norm),
    rpn_head=dict(type='mixcl.FullPrecisionRPNHead', num_convs=2),
    roi_head=dict(
        bbox_roi_extractor=roi_align,
        bbox_head=dict(type='Shared4Conv1FCBBoxHead', norm_cfg=layer_norm),
        mask_roi_extractor=roi_align,
        mask_head=dict(norm_cfg=layer_norm),
    ),
)
train_dataloader = dict(
    batch_size=8,  # per process: 64 on 8 GPUs
    num_workers=8,
    sampler=dict(type='mixcl.KeyedSampler'),
    drop_last=True,
    dataset=dict(
        _delete_=True,
        type='mixcl.KeyedDataset',
        dataset=dict(**_base_.coco_images, pipeline=[_base_.load_image, *_base_.train_pipeline[1:]]),
    ),
)
test_pipeline = [
    _base_.load_image,
    dict(type='Resize', scale=(1024, 1024), keep_ratio=True),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='PackDetInputs', meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor')),
]
val_dataloader = dict(dataset=dict(type='mixcl.CocoDetection', pipeline=test_pipeline))
test_dataloader = val_dataloader
optim_wrapper = dict(
    optimizer=dict(_delete_=True, type='AdamW', lr=1e-4, betas=(0.9, 0.999), weight_decay=0.1),
    constructor='mixcl.DetectorLayerDecayConstructor',
    paramwise_cfg=dict(layer_decay_rate=0.7, norm_decay_mult=0.0, custom_keys=dict(pos_embed=dict(decay_mult=0.0))),
)
log_processor = dict(by_epoch=False)
default_hooks = dict(
    checkpoint=dict(**_base_.checkpoint_hook, by_epoch=False, interval=2000),
    nonfinite=_base_.nonfinite_hook,
)
