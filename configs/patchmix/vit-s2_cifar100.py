# PatchMix, ViT-S/2 on CIFAR-100: batch 512, 800 epochs (Table 3: kNN 75.4).
_base_ = [
    '../_base_/models/patchmix_vit-s2.py',
    '../_base_/datasets/cifar100.py',
    '../_base_/schedules/patchmix_800e_cifar.py',
    '../_base_/default_runtime.py',
]
