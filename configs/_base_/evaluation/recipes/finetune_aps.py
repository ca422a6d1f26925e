# APS' fine-tuning on CIFAR: DeiT's recipe at batch 128 with 1e-3 per 512 images (ViT-S), nothing decays by layer.
_base_ = './finetune_deit.py'

protocol = dict(recipe='aps')
optim_wrapper = dict(optimizer=dict(lr=2.5e-4))
auto_scale_lr = dict(base_batch_size=128)
