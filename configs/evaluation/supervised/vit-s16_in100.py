# DeiT-S on ImageNet-100 from scratch, 300 epochs (SDMP, Table 11: 88.0).
_base_ = './vit-s16_in1k.py'

images = dict(type='ImageNet100', data_root='data/imagenet', class_list='imagenet100.txt')

model = dict(head=dict(num_classes=100))
train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=dict(dataset=images))
test_dataloader = val_dataloader
data_preprocessor = dict(num_classes=100)
