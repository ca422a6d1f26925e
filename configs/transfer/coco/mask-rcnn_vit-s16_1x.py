# Mask R-CNN with a plain ViT-S/16 on COCO, 12 epochs: not from a paper. 12 heads, as PatchMix, SDMP and MoCo v3 have
# (6 after DINO and APS: --cfg-options model.backbone.arch.num_heads=6).
_base_ = './mask-rcnn_vit-b16_1x.py'
model = dict(
    backbone=dict(arch=dict(embed_dims=384, feedforward_channels=1536)),
    neck=dict(in_channels=384),
)
