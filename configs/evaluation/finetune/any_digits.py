# Fine-tuning of the small ViT on digits. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/digits.py',
    '../../_base_/evaluation/models/classifier_vit-xs4.py',
    '../../_base_/evaluation/recipes/finetune_small.py',
    '../../_base_/evaluation/runtime.py',
]
