# PatchMix, ViT-B/2 on CIFAR-10: batch 512, 800 epochs (Table 3: kNN 95.8).
_base_ = [
    '../_base_/models/patchmix_vit-b2.py',
    '../_base_/datasets/cifar10.py',
    '../_base_/schedules/patchmix_800e_cifar.py',
    '../_base_/default_runtime.py',
]
optim_wrapper = dict(optimizer=dict(lr=1.5e-3))  # 7.5e-4 per 256 images
