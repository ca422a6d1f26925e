# APS' fine-tuning on CIFAR: DeiT's recipe at batch 128 with 1e-3 per 512 images (ViT-S), nothing decays by layer.
_base_ = './finetune_deit.py'

# Images are normalised by ImageNet's statistics, though those of pretraining are CIFAR's own.
protocol = dict(recipe='aps', normalisation="ImageNet's mean and deviation")
optim_wrapper = dict(optimizer=dict(lr=2.5e-4))
auto_scale_lr = dict(base_batch_size=128)
