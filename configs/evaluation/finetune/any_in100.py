# Fine-tuning on ImageNet-100: PatchMix's recipe for ImageNet-1K.
_base_ = [
    '../../_base_/evaluation/datasets/in100_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/recipes/finetune_patchmix.py',
    '../../_base_/evaluation/runtime_average.py',
]
model = dict(head=dict(num_classes=100))
