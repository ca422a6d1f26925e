# ImageNet-1K with its labels, crops with colour jitter and AlexNet's lighting noise (BSIM's five depths).
_base_ = './in1k_bilinear.py'

training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='mmpretrain.RandomResizedCrop',
        scale=224,
        crop_ratio_range=(0.08, 1.0),
        backend='pillow',
        interpolation='bilinear',
    ),
    dict(type='RandomFlip', prob=0.5),
    dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.4, backend='pillow'),
    dict(type='ColourNoise', deviation=0.1),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
