# ResNets with CIFAR's stem fine-tuned on 10 % of CIFAR-100, evenly chosen from the classes. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/cifar100_bilinear.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/semi_resnet_small.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(backbone=dict(type='mmpretrain.ResNet_CIFAR'), head=dict(num_classes=100))
labelled = dict(type='LabelledSubset', share=0.1, seed=0, dataset=_base_.train_dataloader.dataset.dataset)
train_dataloader = dict(dataset=dict(dataset=dict(_delete_=True, **labelled)))
protocol = dict(share=0.1, seed=0)
