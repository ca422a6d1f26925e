# SimMIM, ViT-B/2 on CIFAR-10: batch 512, 1600 epochs (APS, Table 2: fine-tuned 97.1).
_base_ = ['../_base_/methods/simmim.py', '../_base_/data/cifar10.py']

model = dict(backbone=dict(patch_size=2))
views = dict(after=[dict(type='mmpretrain.SimMIMMaskGenerator', mask_patch_size=4, mask_ratio=0.6)])
optimizer = dict(lr=5e-5)
schedule = dict(epochs=1600, milestones=[1400])
batch = 512
measure = dict(every=20)
