# APS, ViT-S/2 on CIFAR-100, fine-tuned (Table 2: 84.8).
_base_ = [
    '../../_base_/evaluation/datasets/cifar100_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s2_aps.py',
    '../../_base_/evaluation/recipes/finetune_aps.py',
    '../../_base_/evaluation/runtime_average.py',
]
model = dict(head=dict(num_classes=100))
train_dataloader = dict(batch_size=128)
