# ResNets on digits, fine-tuned. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/digits.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/finetune_resnet.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=10))
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=30)
