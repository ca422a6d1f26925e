# Mask R-CNN with a plain ViT-B/16 on COCO, 100 epochs of batch 64 at 1024 pixels. PatchMix (Table 4) and APS (Table 3)
# report it; PatchMix after 300 epochs of pretraining: 51.9 box AP, 46.1 mask AP.
_base_ = '../_base_/mask-rcnn_vit.py'
train_cfg = dict(_delete_=True, type='mixcl.KeyedIterTrainLoop', max_iters=184375, val_interval=9219)
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=250),
    dict(type='MultiStepLR', by_epoch=False, begin=0, end=184375, milestones=[163889, 177546], gamma=0.1),
]
