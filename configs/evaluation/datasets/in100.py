# ImageNet-100: the folders of ImageNet-1K, and imagenet100.txt with 100 of their names beside them.
_base_ = './in1k.py'

images = dict(type='ImageNet100', class_list='imagenet100.txt')
num_classes = 100
label_lists = False
