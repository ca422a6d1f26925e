# PatchMix as the authors' released configs: two images per mixture, smoothing .1 on the origin terms, 8 local crops of
# 96 pixels (clean and mixed) beside global crops of .35 to 1 of the image, momentum constant within an epoch.
_base_ = ['../_base_/methods/patchmix.py', '../_base_/data/in1k.py']
model = dict(
    target=dict(type='EpochwiseEMA'),
    mixer=dict(num_mix=2),
    streams=dict(local_mix=dict(mix='local')),
    terms=[
        ('view1', 'view2', 1.0, dict(smoothing=0.1)),
        ('mix2', 'view1', 0.5),
        ('mix2', 'mix1', 0.5),
        ('local', 'view1', 1.0, dict(smoothing=0.1)),
        ('local', 'view2', 1.0, dict(smoothing=0.1)),
        ('local_mix', 'view1', 1.0),
        ('local_mix', 'view2', 1.0),
    ],
)
views = dict(
    all=dict(crop=(0.35, 1.0)),
    local=dict(crops=8, size=96, crop=(0.05, 0.35), steps=['jitter_mild', 'gray', 'blur_half', 'flip']),
)
