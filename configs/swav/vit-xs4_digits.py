# SwAV on the small ViT of configs/mocov3/vit-xs4_digits.py, with its projector, rate and length.
_base_ = '../mocov3/vit-xs4_digits.py'

model = dict(
    predictor=None,
    target=dict(_delete_=True, type='StopGrad'),
    objective=dict(_delete_=True, type='SwAV', num_prototypes=128),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
hooks = dict(prototypes=dict(type='FrozenPrototypesHook', epochs=1))
