# Faster R-CNN with a ResNet-50 whose fourth stage is the head (C4) on VOC 2007 and 2012, 24,000 steps of batch 16:
# MoCo's protocol, which trains on difficult objects too. Average at least five runs (--cfg-options randomness.seed=N).
_base_ = [
    '../_base_/detection.py',
    '../_base_/r50_c4.py',
    'mmdet::pascal_voc/faster-rcnn_r50-caffe-c4_ms-18k_voc0712.py',
]
model = dict(
    data_preprocessor=_base_.rgb_statistics,
    backbone=_base_.c4_backbone,
    rpn_head=_base_.c4_rpn_head,
    roi_head=_base_.c4_roi_head,
)
train_pipeline = [
    dict(type='mixcl.LoadImage'),
    dict(type='LoadAnnotations', with_bbox=True),
    dict(type='RandomChoiceResize', scales=[(1333, side) for side in range(480, 801, 32)], keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs'),
]
images = dict(
    type='ConcatDataset',
    ignore_keys=['dataset_type'],  # VOC2007 or VOC2012
    datasets=[
        dict(
            type='mixcl.VOCDetection',
            data_root='data/VOCdevkit/',
            ann_file=f'VOC{year}/ImageSets/Main/trainval.txt',
            data_prefix=dict(sub_data_root=f'VOC{year}/'),
            filter_cfg=dict(filter_empty_gt=True, min_size=32),
            pipeline=train_pipeline,
        )
        for year in (2007, 2012)
    ],
)
train_dataloader = dict(
    sampler=dict(type='mixcl.KeyedSampler'),
    batch_sampler=dict(type='mixcl.KeyedAspectRatioBatchSampler', drop_last=True),
    dataset=dict(_delete_=True, type='mixcl.KeyedDataset', dataset=images),
)
test_pipeline = [dict(type='mixcl.LoadImage'), *_base_.test_pipeline[1:]]
val_dataloader = dict(dataset=dict(type='mixcl.VOCDetection', pipeline=test_pipeline))
test_dataloader = val_dataloader
# AP is the mean over these thresholds, with VOC 2007's eleven points of the precision-recall curve.
val_evaluator = dict(iou_thrs=[percent / 100 for percent in range(50, 100, 5)])
test_evaluator = val_evaluator

train_cfg = dict(type='mixcl.KeyedIterTrainLoop', max_iters=24000, val_interval=24000)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=100),
    dict(type='MultiStepLR', begin=0, end=24000, by_epoch=False, milestones=[18000, 22000], gamma=0.1),
]
custom_hooks = [
    *_base_.custom_hooks,
    dict(type='mixcl.PretrainedSharedHeadHook'),
    dict(type='mixcl.PreciseBatchNormHook', num_samples=3200),
]
default_hooks = dict(checkpoint=dict(**_base_.checkpoint_hook, interval=2000), nonfinite=_base_.nonfinite_hook)
