# ResNet-50 on TinyImageNet from scratch, 200 epochs (MixCo, Table 1: 67.03).
_base_ = [
    '../../_base_/evaluation/datasets/tinyimagenet_bilinear.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/supervised_resnet.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=200))
train_cfg = dict(max_epochs=200)
