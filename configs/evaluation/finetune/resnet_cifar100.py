# ResNets on CIFAR-100 enlarged to 224 pixels, fine-tuned. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/cifar100_224.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/finetune_resnet.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=100))
