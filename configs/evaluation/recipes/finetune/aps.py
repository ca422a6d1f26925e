# APS' fine-tuning on CIFAR (Table 2): DeiT's recipe at batch 128, images once per epoch, 1e-3 per 512 images (ViT-S;
# ViT-T 2e-3, ViT-B 5e-4). Images are normalised by ImageNet's statistics, though those of pretraining are CIFAR's own.
_base_ = './deit.py'

protocol = dict(recipe='aps', normalisation="ImageNet's mean and deviation", encoder='online')
statistics = 'data'
model = dict(
    backbone=dict(drop_path_rate=0.0),  # .1 in the authors' configs, where nothing reads it
    head=dict(init_cfg=None),  # torch's initialisation
)
optimizer = dict(lr=5e-4)
batch = 128
repeats = 1
variants = [
    dict(backbone='vit-t2', lr=1e-3),
    dict(backbone='vit-b2', lr=2.5e-4),
]
