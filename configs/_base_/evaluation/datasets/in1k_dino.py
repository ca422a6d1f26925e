# ImageNet-1K with its labels as DINO's linear probe sees them: trained on bilinear crops, tested on bicubic ones.
_base_ = './in1k_bilinear.py'

evaluation_pipeline = [
    dict(type='LoadImage'),
    dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=224),
    dict(type='mmpretrain.PackInputs'),
]
val_dataloader = dict(dataset=dict(dataset=dict(pipeline=evaluation_pipeline)))
test_dataloader = val_dataloader
