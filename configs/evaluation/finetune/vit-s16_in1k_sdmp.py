# SDMP and its rivals, ViT-S/16 on ImageNet-1K, fine-tuned as DeiT trains (Table 2: 78.7 and 79.1 on MoCo v3).
_base_ = [
    '../../_base_/evaluation/datasets/in1k_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/recipes/finetune_deit.py',
    '../../_base_/evaluation/runtime_average.py',
]
train_dataloader = dict(sampler=dict(type='RepeatedKeyedSampler', repeats=3))
