# Fine-tuning on TinyImageNet enlarged to 224 pixels: PatchMix's recipe at batch 256.
_base_ = [
    '../../_base_/evaluation/datasets/tinyimagenet_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/recipes/finetune_patchmix.py',
    '../../_base_/evaluation/runtime_average.py',
]
model = dict(head=dict(num_classes=200))
optim_wrapper = dict(optimizer=dict(lr=5e-4))
auto_scale_lr = dict(base_batch_size=256)
