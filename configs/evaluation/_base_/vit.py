# A vision transformer as a classifier of mixed images: Mixup .8 or CutMix 1 with equal probability, label smoothing .1,
# drop path .1.
_base_ = './classifier.py'

views = 'randaugment'
model = dict(
    backbone=dict(
        drop_path_rate=0.1,
        fixed_position=False,  # positions and patch embedding are trained, even if pretraining kept them fixed
        frozen_patch_embed=False,
    ),
    head=dict(
        loss=dict(type='mmpretrain.LabelSmoothLoss', label_smooth_val=0.1, mode='original'),
        init_cfg=dict(type='TruncNormal', layer='Linear', std=0.02),
    ),
    # with their scope, since mmpretrain looks them up in its own registry
    train_cfg=dict(
        augments=[
            dict(type='Mixup', _scope_='mmpretrain', alpha=0.8),
            dict(type='CutMix', _scope_='mmpretrain', alpha=1.0),
        ]
    ),
)
