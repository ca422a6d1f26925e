# SimCLR, ResNet-18 on TinyImageNet: batch 128, 100 epochs, SGD (the host of MixCo).
_base_ = [
    '../_base_/models/simclr_r50.py',
    '../_base_/datasets/tinyimagenet_simclr.py',
    '../_base_/schedules/sgd_cosine_200e.py',
    '../_base_/default_runtime.py',
]
model = dict(
    backbone=dict(depth=18, zero_init_residual=False),
    neck=dict(_delete_=True, type='PlainHead', in_channels=512, hidden_channels=512, out_channels=128),
    objective=dict(temperature=0.5, gather=False),  # the authors contrast within a process
)
train_dataloader = dict(batch_size=128)
optim_wrapper = dict(optimizer=dict(lr=0.15, weight_decay=1e-6))
# Constant for 11 epochs, then a cosine that would end after 100 more: the last epoch is at 3 % (the authors' code).
param_scheduler = [dict(type='CosineAnnealingLR', T_max=100, begin=10, end=110, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=100)
