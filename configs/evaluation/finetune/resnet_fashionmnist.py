# ResNets on Fashion-MNIST, fine-tuned. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/fashionmnist.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/finetune_resnet.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=10))
train_cfg = dict(max_epochs=15)
