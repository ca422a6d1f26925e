# Any ResNet on Fashion-MNIST: linear probe, MoCo v2's recipe. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/fashionmnist.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_moco.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=10))
optim_wrapper = dict(optimizer=dict(lr=3.0))  # as MixCo on small data
param_scheduler = [dict(type='MultiStepLR', milestones=[12, 16], gamma=0.1, by_epoch=True)]
train_cfg = dict(max_epochs=20, val_interval=5)
