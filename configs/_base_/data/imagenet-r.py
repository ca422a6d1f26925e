# ImageNet-R: as ImageNet-A.
_base_ = './imagenet-a.py'

data = dict(images=dict(type='ImageNetR', data_root='data/imagenet-r'))
