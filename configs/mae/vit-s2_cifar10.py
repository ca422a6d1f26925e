# MAE, ViT-S/2 on CIFAR-10: batch 512, 1600 epochs (APS, Table 2: fine-tuned 97.0).
_base_ = ['../_base_/methods/mae.py', '../_base_/datasets/cifar10.py']

# A decoder of four blocks as wide as the encoder's, judging by the GFLOPs of the table.
model = dict(
    backbone=dict(img_size=32, patch_size=2),
    neck=dict(num_patches=256, patch_size=2, decoder_embed_dim=384, decoder_depth=4, decoder_num_heads=6),
    head=dict(patch_size=2),
)
crop = dict(_base_.crop, crop_ratio_range=(0.2, 1.0))
views = dict(type='KeyedMultiView', num_views=[1], transforms=[[crop, _base_.flip]])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
optim_wrapper = dict(optimizer=dict(lr=3e-4))  # 1.5e-4 per 256 images
auto_scale_lr = dict(base_batch_size=512)
