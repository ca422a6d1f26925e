# ImageNet-R: as ImageNet-A.
_base_ = './imagenet-a.py'

images = dict(type='ImageNetR', data_root='data/imagenet-r')
