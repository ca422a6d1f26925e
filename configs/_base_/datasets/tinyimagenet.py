# TinyImageNet enlarged to 224 pixels, with the views of MoCo v2, as MixCo trains on it.
_base_ = './in1k_mocov2.py'

images = dict(type='TinyImageNet', data_root='data/tiny-imagenet-200')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=dict(dataset=images))
val_cfg = dict(bank_dataloader=dict(dataset=dict(dataset=images)))
test_dataloader = val_dataloader
test_cfg = val_cfg
