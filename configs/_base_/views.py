# What follows the crop in view 1, in view 2 and in local crops. They differ in how often they blur and solarise.
photometric = [
    [
        dict(
            type='RandomApply',
            prob=0.8,
            transforms=dict(
                type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1, backend='pillow'
            ),
        ),
        dict(type='RandomGrayscale', prob=0.2, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989)),  # BGR
        dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=blur),
        dict(type='mmpretrain.Solarize', thr=128, prob=solarize),
        dict(type='RandomFlip', prob=0.5),
    ]
    for blur, solarize in [(1.0, 0.0), (0.1, 0.2), (0.5, 0.0)]
]
photometric_views = photometric[:2]
local_photometric = photometric[2]
