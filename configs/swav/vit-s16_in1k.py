# SwAV, ViT-S/16 on ImageNet-1K with the projector and the recipe of MoCo v3 (PatchMix, Table 2 quotes linear 67.1).
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    predictor=None,
    target=dict(_delete_=True, type='StopGrad'),
    objective=dict(_delete_=True, type='SwAV', num_prototypes=3000),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
hooks = dict(prototypes=dict(type='FrozenPrototypesHook', epochs=1))
