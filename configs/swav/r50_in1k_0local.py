# SwAV without local crops, ResNet-50 on ImageNet-1K: batch 256, 200 epochs (BSIM, Table 2 quotes linear 69.1).
_base_ = './r50_in1k.py'

global_crop = dict(_base_.global_crop, crop_ratio_range=(0.08, 1.0))
views = dict(type='KeyedMultiView', num_views=[2], transforms=[[global_crop, *_base_.simclr_steps]])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    views=dict(_delete_=True, view1=1, view2=1),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
    joint=[('view1', 'view2')],
)
