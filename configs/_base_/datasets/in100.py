# ImageNet-100: ImageNet-1K's folders, and the text file imagenet100.txt with 100 wnids beside them.
_base_ = './in1k.py'

images = dict(type='ImageNet100', data_root='data/imagenet', class_list='imagenet100.txt')
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = test_dataloader = dict(dataset=dict(dataset=images))
val_cfg = test_cfg = dict(bank_dataloader=dict(dataset=dict(dataset=images)))
