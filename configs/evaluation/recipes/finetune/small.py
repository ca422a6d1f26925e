# Fine-tuning of the small ViT on plain images: AdamW, layer decay .75, 30 epochs. Not from a paper.
_base_ = './patchmix.py'

protocol = dict(recipe='small')
views = 'plain'
model = dict(
    backbone=dict(_delete_=True, fixed_position=False, frozen_patch_embed=False),
    head=dict(
        loss=dict(_delete_=True, type='mmpretrain.CrossEntropyLoss'),
        init_cfg=dict(_delete_=True, type='TruncNormal', layer='Linear', std=0.02),
    ),
    train_cfg=None,
)
optimizer = dict(lr=2e-3)  # 1e-3, except for variants' batches
schedule = dict(epochs=30, warmup=3, final=1e-6)
batch = 128
hooks = dict(average=None)
variants = [
    dict(percent=1, data='digits', lr=0.032, batch=8, epochs=100, every=10),
    dict(percent=10, data='digits', lr=0.008, batch=32, epochs=100, every=10),
    dict(percent=1, data='fashionmnist', lr=0.004, batch=64, epochs=50, every=5),
    dict(data='fashionmnist', lr=1e-3, batch=256, epochs=15),
]
