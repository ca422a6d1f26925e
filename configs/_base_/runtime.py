# What every recipe shares: hooks, environment, and the transforms that views name. A config says facts
# (docs/training.md), and mixcl makes mmengine's sections of them; sections that it writes beside the facts count, too.
_base_ = './default_runtime.py'

facts = 1

jitter = [
    dict(
        type='RandomApply',
        prob=prob,
        transforms=dict(
            type='mmpretrain.ColorJitter',
            brightness=strength,
            contrast=strength,
            saturation=saturation,
            hue=hue,
            backend='pillow',
        ),
    )
    for prob, strength, saturation, hue in [
        (0.8, 0.4, 0.2, 0.1),
        (0.8, 0.4, 0.4, 0.1),
        (1.0, 0.4, 0.4, 0.4),
        (0.8, 0.8, 0.8, 0.2),
        (0.8, 0.4, 0.0, 0.0),
    ]
]
blur = [
    dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=prob)
    for prob in (1.0, 0.5, 0.1)
]
# Steps after the crop, by name. All draw from generators seeded by the view's key.
steps = dict(
    flip=dict(type='RandomFlip', prob=0.5),
    gray=dict(type='RandomGrayscale', prob=0.2, keep_channels=True, channel_weights=(0.114, 0.587, 0.2989)),  # BGR
    blur=blur[0],
    blur_half=blur[1],
    blur_rarely=blur[2],
    jitter_mild=jitter[0],
    jitter_strong=jitter[1],
    jitter_always_strong_hue=jitter[2],
    jitter_very_strong=jitter[3],
    jitter_light=jitter[4],  # brightness and contrast, for images without colours
    solarize=dict(type='mmpretrain.Solarize', thr=128, prob=0.2),
)
