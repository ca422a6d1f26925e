# Fine-tuning of the small ViT on Fashion-MNIST. Not from a paper.
_base_ = [
    '../../_base_/evaluation/datasets/fashionmnist.py',
    '../../_base_/evaluation/models/classifier_vit-xs4.py',
    '../../_base_/evaluation/recipes/finetune_small.py',
    '../../_base_/evaluation/runtime.py',
]
model = dict(backbone=dict(img_size=28))
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(max_epochs=15)
