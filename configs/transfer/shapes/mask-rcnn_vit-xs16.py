# A tiny ViT Mask R-CNN on drawn shapes (tools/examples/shapes.py): settings found by trial; trains in minutes on a CPU.
_base_ = '../_base_/mask-rcnn_vit.py'
model = dict(
    data_preprocessor=dict(pad_size_divisor=64),
    backbone=dict(
        arch=dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
        global_blocks=(1, 3),
        img_size=192,
        window_size=5,
        drop_path_rate=0.0,
    ),
    neck=dict(in_channels=96, out_channels=64),
    rpn_head=dict(in_channels=64, feat_channels=64),
    roi_head=dict(
        bbox_roi_extractor=dict(out_channels=64),
        bbox_head=dict(in_channels=64, conv_out_channels=64, fc_out_channels=128, num_classes=3),
        mask_roi_extractor=dict(out_channels=64),
        mask_head=dict(in_channels=64, conv_out_channels=64, num_classes=3),
    ),
    train_cfg=dict(rpn_proposal=dict(nms_pre=200, max_per_img=200), rcnn=dict(sampler=dict(num=64))),
    test_cfg=dict(rpn=dict(nms_pre=200, max_per_img=200), rcnn=dict(max_per_img=20)),
)
shapes = dict(
    data_root='data/shapes/',
    ann_file='annotations.json',
    data_prefix=dict(img='images/'),
    metainfo=dict(classes=('circle', 'rectangle', 'triangle')),
)
resize = dict(type='Resize', scale=(192, 192), keep_ratio=True)
train_pipeline = [
    dict(type='mixcl.LoadImage'),
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    resize,
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs'),
]
test_pipeline = [
    dict(type='mixcl.LoadImage'),
    resize,
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='PackDetInputs', meta_keys=('img_id', 'img_path', 'ori_shape', 'img_shape', 'scale_factor')),
]
train_dataloader = dict(batch_size=4, num_workers=1, dataset=dict(dataset=dict(**shapes, pipeline=train_pipeline)))
val_dataloader = dict(num_workers=1, dataset=dict(**shapes, pipeline=test_pipeline))
test_dataloader = val_dataloader
val_evaluator = dict(ann_file='data/shapes/annotations.json')
test_evaluator = val_evaluator
train_cfg = dict(_delete_=True, type='mixcl.KeyedIterTrainLoop', max_iters=400, val_interval=400)
optim_wrapper = dict(optimizer=dict(lr=1e-3))
param_scheduler = [
    dict(type='LinearLR', start_factor=0.001, by_epoch=False, begin=0, end=40),
    dict(type='MultiStepLR', by_epoch=False, begin=0, end=400, milestones=[320], gamma=0.1),
]
auto_scale_lr = dict(base_batch_size=4)
