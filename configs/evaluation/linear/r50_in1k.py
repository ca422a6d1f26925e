# MoCo v1, v2, MixCo, BSIM and hosts, ResNet-50 on ImageNet-1K: linear probe of the pooled output.
_base_ = [
    '../../_base_/evaluation/datasets/in1k_bilinear.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_moco.py',
    '../../_base_/evaluation/runtime.py',
]
train_dataloader = dict(batch_size=32)  # per process: 256 on 8 GPUs
