# SwAV without local crops, ResNet-50 on ImageNet-1K: batch 256, 200 epochs (BSIM, Table 2 quotes linear 69.1).
_base_ = './r50_in1k.py'
model = dict(
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
    joint=[('view1', 'view2')],
)
views = dict(all=dict(crop=(0.08, 1.0)), local=None)
