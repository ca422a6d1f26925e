# MAE, ViT-S/2 on CIFAR-10: batch 512, 1600 epochs (APS, Table 2: fine-tuned 97.0).
_base_ = ['../_base_/methods/mae.py', '../_base_/data/cifar10.py']

# A decoder of four blocks as wide as the encoder's, judging by the GFLOPs of the table.
model = dict(
    backbone=dict(patch_size=2),
    neck=dict(decoder_embed_dim=384, decoder_depth=4, decoder_num_heads=6),
)
optimizer = dict(lr=1.5e-4)
batch = 512
