# Training images of COCO with a short side of 640 to 800 pixels, in batches of equal orientation.
_base_ = './coco.py'
multi_scale_pipeline = [
    _base_.load_image,
    dict(type='LoadAnnotations', with_bbox=True, with_mask=True),
    dict(type='RandomChoiceResize', scales=[(1333, side) for side in range(640, 801, 32)], keep_ratio=True),
    dict(type='RandomFlip', prob=0.5),
    dict(type='PackDetInputs'),
]
multi_scale_loader = dict(
    sampler=dict(type='mixcl.KeyedSampler'),
    batch_sampler=dict(type='mixcl.KeyedAspectRatioBatchSampler'),
    dataset=dict(
        _delete_=True,
        type='mixcl.KeyedDataset',
        dataset=dict(**_base_.coco_images, pipeline=multi_scale_pipeline),
    ),
)
