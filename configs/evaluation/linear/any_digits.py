# Linear probe on digits, PatchMix's recipe. The rate is not from the paper.
_base_ = [
    '../../_base_/evaluation/datasets/digits.py',
    '../../_base_/evaluation/models/probe_vit-xs4.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
optim_wrapper = dict(optimizer=dict(lr=0.1))
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(val_interval=10)
