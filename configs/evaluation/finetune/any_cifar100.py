# Fine-tuning on CIFAR-100, PatchMix's recipe: batch 256 (learning rate of ViT-S and ViT-B).
_base_ = [
    '../../_base_/evaluation/datasets/cifar100_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s2.py',
    '../../_base_/evaluation/recipes/finetune_patchmix.py',
    '../../_base_/evaluation/runtime_average.py',
]
model = dict(head=dict(num_classes=100))
optim_wrapper = dict(optimizer=dict(lr=5e-4))
auto_scale_lr = dict(base_batch_size=256)
