# Fine-tuning on ImageNet-1K, PatchMix's recipe.
_base_ = [
    '../../_base_/evaluation/datasets/in1k_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/recipes/finetune_patchmix.py',
    '../../_base_/evaluation/runtime_average.py',
]
