# What the protocols on classifiers share: loaders, accuracy, ImageNet's statistics.
_base_ = '../../_base_/default_runtime.py'

train_dataloader = dict(
    num_workers=8,
    persistent_workers=True,
    pin_memory=True,
    drop_last=True,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='KeyedSampler', shuffle=True),
)
val_dataloader = dict(
    batch_size=256,
    num_workers=8,
    persistent_workers=True,
    pin_memory=True,
    drop_last=False,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='DefaultSampler', shuffle=False),
)
val_cfg = dict(type='ValLoop')
val_evaluator = dict(type='mmpretrain.Accuracy', topk=(1, 5))
test_dataloader = val_dataloader
test_cfg = dict(type='TestLoop')
test_evaluator = val_evaluator

# ImageNet's mean and standard deviation, in RGB order, where neither checkpoint nor data set has its own. The pipelines
# give BGR.
data_preprocessor = dict(
    type='mixcl.ClassifierViewPreprocessor',
    num_classes=1000,
    mean=[123.675, 116.28, 103.53],
    std=[58.395, 57.12, 57.375],
    to_rgb=True,
)
