# Barlow Twins on the small ViT of configs/mocov3/vit-xs4_digits.py, with its learning rate and length.
_base_ = '../mocov3/vit-xs4_digits.py'

model = dict(
    neck=dict(out_channels=512, last_norm=False),
    predictor=None,
    target=dict(_delete_=True, type='Shared'),
    objective=dict(_delete_=True, type='CrossCorrelation', off_diagonal=1 / 128),
    terms=[('view1', 'view2', 1.0)],
)
