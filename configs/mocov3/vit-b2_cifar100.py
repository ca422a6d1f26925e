# MoCo v3, ViT-B/2 on CIFAR-100: batch 512, 800 epochs (PatchMix, Table 3: kNN 63.4).
_base_ = [
    '../_base_/models/mocov3_vit-b2.py',
    '../_base_/datasets/cifar100.py',
    '../_base_/schedules/mocov3_800e_cifar.py',
    '../_base_/default_runtime.py',
]
