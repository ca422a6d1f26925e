# PatchMix, ViT-T/2 on CIFAR-100: batch 512, 800 epochs (Table 3: kNN 68.8).
_base_ = [
    '../_base_/models/patchmix_vit-t2.py',
    '../_base_/datasets/cifar100.py',
    '../_base_/schedules/patchmix_800e_cifar.py',
    '../_base_/default_runtime.py',
]
model = dict(target=dict(_delete_=True, type='StopGrad'))  # the authors' ViT-T has no momentum encoder
optim_wrapper = dict(optimizer=dict(lr=4e-3, weight_decay=0.02))  # 2e-3 per 256 images
