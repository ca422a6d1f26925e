# The frame of PatchMix with ResizeMix, which is SDMP, ViT-S/2 on CIFAR-100 (Table 5).
_base_ = './vit-s2_cifar10.py'

model = dict(
    mixer=dict(_delete_=True, type='ResizeMix'),
)
images = dict(type='mmpretrain.CIFAR100', data_root='data/cifar100')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=images)
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=images))
