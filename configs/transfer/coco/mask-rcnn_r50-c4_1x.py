# Mask R-CNN with a ResNet-50 whose fourth stage is the head (C4) on COCO, 12 epochs of batch 16: MoCo's protocol,
# but for 88,000 steps instead of 90,000 (176,000 instead of 180,000 in the 2x config).
_base_ = [
    '../_base_/detection.py',
    '../_base_/multi_scale_coco.py',
    '../_base_/r50_c4.py',
    'mmdet::mask_rcnn/mask-rcnn_r50-caffe-c4_1x_coco.py',
]
model = dict(
    data_preprocessor=dict(**_base_.rgb_statistics, pad_mask=True),
    backbone=_base_.c4_backbone,
    rpn_head=_base_.c4_rpn_head,
    roi_head=_base_.c4_roi_head,
)
train_dataloader = _base_.multi_scale_loader
test_pipeline = [_base_.load_image, *_base_.test_pipeline[1:]]
val_dataloader = dict(dataset=dict(type='mixcl.CocoDetection', pipeline=test_pipeline))
test_dataloader = val_dataloader
custom_hooks = [
    *_base_.custom_hooks,
    dict(type='mixcl.PretrainedSharedHeadHook'),
    dict(type='mixcl.PreciseBatchNormHook', num_samples=3200),
]
default_hooks = dict(checkpoint=_base_.checkpoint_hook, nonfinite=_base_.nonfinite_hook)
train_cfg = dict(type='mixcl.KeyedTrainLoop')
