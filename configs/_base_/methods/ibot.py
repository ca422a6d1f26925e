# iBOT on ViT-S/16: DINO with ten local crops. The online encoder sees both views with blocks masked, and predicts there
# what the target encoder gives for the whole view. One head, with a centre of its own for patches.
_base_ = './dino.py'

blocks = dict(mask=dict(share=(0.1, 0.5), probability=0.5))
model = dict(
    backbone=dict(mask_token=True),
    neck=dict(out_channels=8192),
    patches=dict(objective=dict(type='DINODistillation')),
    streams=dict(view1=blocks, view2=blocks),
    terms=[
        ('view1', 'view2', 1 / 22),
        ('view2', 'view1', 1 / 22),
        ('local', 'view1', 10 / 22),
        ('local', 'view2', 10 / 22),
        ('view1', 'view1', 0.5, dict(level='patch')),
        ('view2', 'view2', 0.5, dict(level='patch')),
    ],
)
views = dict(all=dict(crop=(0.25, 1.0)), local=dict(crops=10, crop=(0.05, 0.25)))
schedule = dict(epochs=800)
