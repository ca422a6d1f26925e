# SimSiam and BSIM on it, ResNet-50 on ImageNet-1K: linear probe (BSIM, Table 2: 70.0, 70.4, 70.8).
_base_ = [
    '../../_base_/evaluation/datasets/in1k_bilinear.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_simsiam.py',
    '../../_base_/evaluation/runtime.py',
]
train_dataloader = dict(batch_size=512)  # per process: 4096 on 8 GPUs
