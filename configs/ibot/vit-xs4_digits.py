# iBOT without local crops on the small ViT of configs/dino/vit-xs4_digits.py; does not learn well with every seed
# (examples/compare_digits.py).
_base_ = '../dino/vit-xs4_digits.py'

blocks = dict(mask=dict(share=(0.1, 0.5), probability=0.5))
model = dict(
    backbone=dict(mask_token=True),
    patches=dict(),  # compared as images are
    streams=dict(view1=blocks, view2=blocks),
    terms=[
        *_base_.model.terms,
        ('view1', 'view1', 0.5, dict(level='patch')),
        ('view2', 'view2', 0.5, dict(level='patch')),
    ],
)
