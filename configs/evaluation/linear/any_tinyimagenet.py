# Linear probe on TinyImageNet enlarged to 224 pixels: PatchMix's recipe at batch 256.
_base_ = [
    '../../_base_/evaluation/datasets/tinyimagenet.py',
    '../../_base_/evaluation/models/probe_vit-s16.py',
    '../../_base_/evaluation/recipes/linear_patchmix.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=200))
optim_wrapper = dict(optimizer=dict(lr=0.02))
auto_scale_lr = dict(base_batch_size=256)
