# ImageNet-100: ImageNet-1K's folders, and the text file imagenet100.txt with 100 wnids beside them.
_base_ = './in1k.py'

data = dict(images=dict(type='ImageNet100', class_list='imagenet100.txt'))
evaluated = dict(classes=100, label_lists=False)
