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
    dict(
        type='mmpretrain.Lighting',
        eigval=[55.4625, 4.7940, 1.1475],
        eigvec=[[-0.5675, 0.7192, 0.4009], [-0.5808, -0.0045, -0.8140], [-0.5836, -0.6948, 0.4203]],
        alphastd=0.1,
        to_rgb=True,
    ),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
