# Any ResNet on digits: linear probe, MoCo v2's recipe. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/digits.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_moco.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=10))
optim_wrapper = dict(optimizer=dict(lr=3.0))  # as MixCo on small data
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(val_interval=10)
