# MoCo v3's rates per image at the batch and length of PatchMix's CIFAR table: batch 512, 800 epochs.
_base_ = './mocov3_300e.py'

optim_wrapper = dict(optimizer=dict(lr=3e-4))  # 1.5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
