# What every pretraining shares: hooks and environment, loaders, and kNN as the metric. Data sets' files inherit it.
_base_ = ['./default_runtime.py', './views.py']

# A data set's file adds the images; the method's config adds the views. The device does the colours, blurs and flips
# of views for a whole batch; views='pillow' runs all steps on the CPU.
train_dataloader = dict(
    num_workers=8,
    persistent_workers=True,
    pin_memory=True,
    drop_last=True,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='KeyedSampler', shuffle=True),
    dataset=dict(views='device'),
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
# kNN votes among the training images, without augmentation.
val_cfg = dict(type='FeatureLoop', bank_dataloader=val_dataloader)
val_evaluator = dict(type='KNNAccuracy', neighbours=(10, 20), temperature=0.07)
test_dataloader = val_dataloader
test_cfg = val_cfg
test_evaluator = dict(type='KNNAccuracy', neighbours=(10, 20, 100, 200), temperature=0.07)
# ImageNet's mean and standard deviation, in RGB order. The pipelines give BGR.
data_preprocessor = dict(
    type='mixcl.ViewPreprocessor', mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True
)
