# ResNets with CIFAR's stem on CIFAR-10, fine-tuned. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/cifar10_bilinear.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/finetune_resnet.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(backbone=dict(type='mmpretrain.ResNet_CIFAR'), head=dict(num_classes=10))
