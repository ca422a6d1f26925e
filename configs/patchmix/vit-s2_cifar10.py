# PatchMix, ViT-S/2 on CIFAR-10: batch 512, 800 epochs (Table 3: kNN 94.6).
_base_ = [
    '../_base_/models/patchmix_vit-s2.py',
    '../_base_/datasets/cifar10.py',
    '../_base_/schedules/patchmix_800e_cifar.py',
    '../_base_/default_runtime.py',
]
