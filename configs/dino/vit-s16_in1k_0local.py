# DINO without local crops, 300 epochs (PatchMix, Table 2: kNN 67.9); for 100 epochs SDMP, Table 10: linear 67.8.
_base_ = './vit-s16_in1k.py'

views = dict(_base_.views, num_views=[1, 1], transforms=_base_.views.transforms[:2])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    views=dict(_delete_=True, view1=1, view2=1),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
