# Mask R-CNN with a ResNet-50 and FPN on COCO, 12 epochs of batch 16: MoCo's protocol,
# but for 88,000 steps instead of 90,000 (176,000 instead of 180,000 in the 2x config).
_base_ = [
    '../_base_/detection.py',
    '../_base_/multi_scale_coco.py',
    'mmdet::mask_rcnn/mask-rcnn_r50_fpn_1x_coco.py',
]
norm = dict(type='SyncBN', requires_grad=True)
# For bfloat16 (--amp), which mmcv's operators do not support; the functions are the same.
roi_align = dict(roi_layer=dict(use_torchvision=True))
model = dict(
    backbone=dict(frozen_stages=-1, norm_cfg=norm, norm_eval=False, init_cfg=None),
    neck=dict(norm_cfg=norm),
    rpn_head=dict(type='mixcl.FullPrecisionRPNHead'),
    roi_head=dict(
        bbox_roi_extractor=roi_align,
        bbox_head=dict(type='Shared4Conv1FCBBoxHead', norm_cfg=norm),
        mask_roi_extractor=roi_align,
        mask_head=dict(norm_cfg=norm),
    ),
)
train_dataloader = _base_.multi_scale_loader
test_pipeline = [_base_.load_image, *_base_.test_pipeline[1:]]
val_dataloader = dict(dataset=dict(type='mixcl.CocoDetection', pipeline=test_pipeline))
test_dataloader = val_dataloader
custom_hooks = [*_base_.custom_hooks, dict(type='mixcl.PreciseBatchNormHook', num_samples=3200)]
default_hooks = dict(checkpoint=_base_.checkpoint_hook, nonfinite=_base_.nonfinite_hook)
train_cfg = dict(type='mixcl.KeyedTrainLoop')
