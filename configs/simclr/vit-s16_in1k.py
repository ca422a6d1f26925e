# SimCLR, ViT-S/16 on ImageNet-1K with the head and the recipe of MoCo v3 (PatchMix, Table 2 quotes linear 69.0).
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    predictor=None,
    target=dict(_delete_=True, type='Shared'),
    objective=dict(_delete_=True, type='InfoNCE', temperature=0.1, negatives=['own']),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
