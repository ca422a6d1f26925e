# PatchMix, continued from DINOv3's ViT-S/16 on your own images: --data-root DIR --pretrained FILE. 50 epochs. The rates
# are a tenth of those from scratch, falling by a quarter per block towards the stem, after a short warm-up.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/folder.py']

model = dict(
    backbone=dict(
        _delete_=True,
        type='TimmBackbone',
        name='vit_small_patch16_dinov3',
        frozen_blocks=None,  # 4 freezes the patch embedding and the first four blocks
        lora=None,  # 8 trains only low-rank updates of rank 8
    )
)
optimizer = dict(lr=5e-5, weight_decay=0.04, layer_decay=0.75, spare='named')
schedule = dict(epochs=50, warmup=1)
