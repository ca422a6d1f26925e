# TinyImageNet, enlarged to 224 pixels.
_base_ = '../_base_/views_224.py'

images = dict(type='TinyImageNet', data_root='data/tiny-imagenet-200')
splits = dict(train=dict(split='train'), test=dict(split='val'))
num_classes = 200
files = True  # images are files, which may be unreadable
processes = 1
backbone = dict(type='mmpretrain.ResNet', depth=18)
