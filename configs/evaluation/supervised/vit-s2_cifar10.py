# ViT-S/2 on CIFAR-10 from scratch, 300 epochs (APS, Table 2: 90.3). The recipe of APS' fine-tuning.
_base_ = [
    '../../_base_/evaluation/datasets/cifar10_randaugment.py',
    '../../_base_/evaluation/models/classifier_vit-s2_aps.py',
    '../../_base_/evaluation/recipes/finetune_aps.py',
    '../../_base_/evaluation/runtime_average.py',
]
train_dataloader = dict(batch_size=128)
train_cfg = dict(max_epochs=300)
protocol = dict(name='supervised')
