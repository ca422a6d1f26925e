# PatchMix, ViT-S/16 on ImageNet-1K, fine-tuned (Table 2: 82.8; 800 epochs: 83.4).
_base_ = [
    '../../_base_/evaluation/datasets/in1k_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/recipes/finetune_patchmix.py',
    '../../_base_/evaluation/runtime_average.py',
]
