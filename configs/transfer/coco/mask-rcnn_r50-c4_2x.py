# Mask R-CNN with a ResNet-50 whose fourth stage is the head (C4) on COCO, 24 epochs.
_base_ = './mask-rcnn_r50-c4_1x.py'
train_cfg = dict(max_epochs=24)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=500),
    dict(type='MultiStepLR', begin=0, end=24, by_epoch=True, milestones=[16, 22], gamma=0.1),
]
