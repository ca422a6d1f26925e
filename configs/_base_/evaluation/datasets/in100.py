# ImageNet-100 with its labels: the folders of ImageNet-1K, and imagenet100.txt beside them.
_base_ = './in1k.py'

images = dict(type='ImageNet100', data_root='data/imagenet', class_list='imagenet100.txt')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=dict(dataset=images))
test_dataloader = val_dataloader
data_preprocessor = dict(num_classes=100)
