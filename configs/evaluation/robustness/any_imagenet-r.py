# ImageNet-R: accuracy of a fine-tuned classifier of ImageNet-1K, among the 200 classes of the data set.
_base_ = './any_imagenet-a.py'

test_dataloader = dict(dataset=dict(dataset=dict(type='ImageNetR', data_root='data/imagenet-r')))
