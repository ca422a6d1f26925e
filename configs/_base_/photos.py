# Photographs at 224 pixels: how they are read, and prepared for evaluations.
_base_ = './runtime.py'

data = dict(size=224, resize=256, read=[dict(type='LoadImage')], files=True)
evaluated = dict(
    views=dict(  # beside 'plain', of DINO, MAE and PatchMix
        # as torchvision resizes by default: MoCo v3, SDMP, MixCo, BSIM, SimSiam
        bilinear=dict(interpolation='bilinear'),
        # DINO's linear probe
        bilinear_bicubic=dict(interpolation='bilinear', tested_by='bicubic'),
        # BSIM's five depths: colour jitter and AlexNet's lighting noise
        jitter=dict(interpolation='bilinear', steps=['flip', 'jitter_evenly', 'colour_noise']),
        randaugment=dict(steps=['flip', 'randaugment', 'erasing']),
    ),
    backbone=dict(  # ViT-S/16, where neither a checkpoint nor a config gives one
        type='ContrastiveViT',
        arch=dict(embed_dims=384, num_layers=12, num_heads=12, feedforward_channels=1536),
        patch_size=16,
    ),
)
