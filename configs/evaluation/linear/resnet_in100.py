# Any ResNet on ImageNet-100: linear probe, MoCo v2's recipe. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/in100_bilinear.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_moco.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(head=dict(num_classes=100))
train_dataloader = dict(batch_size=32)  # per process: 256 on 8 GPUs
