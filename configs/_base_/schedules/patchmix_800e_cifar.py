# PatchMix's schedule on CIFAR: batch 512, 800 epochs, 100 of them warm-up; learning rate for ViT-S.
_base_ = './patchmix_300e.py'

optim_wrapper = dict(optimizer=dict(lr=1e-3))  # 5e-4 per 256 images
param_scheduler = [
    dict(type='WarmupCosineLR', warmup=100, final=1e-6, by_epoch=True, convert_to_iter_based=True),
    dict(type='mmpretrain.CosineAnnealingWeightDecay', eta_min_ratio=10, by_epoch=True, convert_to_iter_based=True),
]
auto_scale_lr = dict(base_batch_size=512)
train_cfg = dict(max_epochs=800)
