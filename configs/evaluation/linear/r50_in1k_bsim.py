# BSIM and hosts, ResNet-50 on ImageNet-1K: linear probes of five depths at once (BSIM, Table 2, feat1 to feat5).
_base_ = [
    '../../_base_/evaluation/datasets/in1k_jitter.py',
    '../../_base_/evaluation/models/probe_r50.py',
    '../../_base_/evaluation/recipes/linear_bsim.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(
    backbone=dict(feature=dict(_delete_=True, type='PooledStages')),
    head=dict(
        _delete_=True,
        type='StageProbes',
        num_classes=1000,
        in_channels=(9216, 9216, 8192, 9216, 8192),
        map_channels=(64, 256, 512, 1024, 2048),
    ),
)
train_dataloader = dict(batch_size=32)  # per process: 256 on 8 GPUs
val_evaluator = dict(_delete_=True, type='StageAccuracy', topk=(1, 5))
test_evaluator = val_evaluator
