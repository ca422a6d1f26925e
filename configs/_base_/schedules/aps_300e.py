# APS on ImageNet: AdamW, 8e-5 per 256 images, batch 4096, weight decay .1 on everything, 20 epochs of warm-up.
_base_ = './aps_1600e_cifar.py'

optim_wrapper = dict(optimizer=dict(lr=1.28e-3, weight_decay=0.1))
auto_scale_lr = dict(base_batch_size=4096)
train_cfg = dict(max_epochs=300)
