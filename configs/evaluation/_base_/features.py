# What the protocols on features of a frozen backbone share: its output for training images (the bank) and test images.
_base_ = '../../_base_/default_runtime.py'

views = 'plain'
model = dict(type='FrozenEncoder', backbone=dict(), feature=dict(type='Output'))
test_dataloader = dict(
    batch_size=256,
    num_workers=8,
    persistent_workers=False,  # the loader is read once
    pin_memory=True,
    drop_last=False,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='DefaultSampler', shuffle=False),
)
test_cfg = dict(type='FeatureLoop', bank_dataloader=test_dataloader)

# ImageNet's mean and standard deviation, in RGB order, where neither checkpoint nor data set has its own. The pipelines
# give BGR.
data_preprocessor = dict(
    type='mixcl.ViewPreprocessor', mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True
)
