# Mask R-CNN with a plain ViT-B/16 on COCO, 12 epochs: not from a paper; the schedule of 100 epochs
# in proportion.
_base_ = '../_base_/mask-rcnn_vit.py'
train_cfg = dict(_delete_=True, type='mixcl.KeyedIterTrainLoop', max_iters=22125, val_interval=22125)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=250),
    dict(type='MultiStepLR', by_epoch=False, begin=0, end=22125, milestones=[19667, 21306], gamma=0.1),
]
