# MoCo v3, ViT-T/2 on CIFAR-10: batch 512, 800 epochs (PatchMix, Table 3: kNN 88.1).
_base_ = [
    '../_base_/models/mocov3_vit-t2.py',
    '../_base_/datasets/cifar10.py',
    '../_base_/schedules/mocov3_800e_cifar.py',
    '../_base_/default_runtime.py',
]
