# TinyImageNet with its labels, enlarged to 224 pixels, resized as torchvision does by default.
_base_ = './in1k_bilinear.py'

images = dict(type='TinyImageNet', data_root='data/tiny-imagenet-200')

train_dataloader = dict(batch_size=256, dataset=dict(dataset=images))
val_dataloader = dict(dataset=dict(dataset=images))
test_dataloader = val_dataloader
data_preprocessor = dict(num_classes=200)
