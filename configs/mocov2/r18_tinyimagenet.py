# MoCo v2, ResNet-18 on TinyImageNet: batch 128, 100 epochs, learning rate .015 (the host of MixCo).
_base_ = [
    '../_base_/models/mocov2_r18_mixco.py',
    '../_base_/datasets/tinyimagenet.py',
    '../_base_/schedules/sgd_cosine_200e.py',
    '../_base_/default_runtime.py',
]
train_dataloader = dict(batch_size=128)
optim_wrapper = dict(optimizer=dict(lr=0.015))
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=100)
