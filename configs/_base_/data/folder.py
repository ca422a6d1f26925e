# Your own images at 224 pixels: any format, nested folders, no labels, so that nothing is measured.
_base_ = '../photos.py'

data = dict(images=dict(type='ImageFolder', data_root='data/folder'), splits=dict())
