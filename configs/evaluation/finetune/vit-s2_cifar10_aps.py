# APS, ViT-S/2 on CIFAR-10, fine-tuned (Table 2: 98.0).
_base_ = [
    '../../_base_/evaluation/datasets/cifar10_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s2_aps.py',
    '../../_base_/evaluation/recipes/finetune_aps.py',
    '../../_base_/evaluation/runtime_average.py',
]
train_dataloader = dict(batch_size=128)
