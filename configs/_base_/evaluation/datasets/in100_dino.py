# ImageNet-100 with its labels as DINO's linear probe sees them; imagenet100.txt names its classes.
_base_ = './in1k_dino.py'

images = dict(type='ImageNet100', data_root='data/imagenet', class_list='imagenet100.txt')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=dict(dataset=images))
test_dataloader = val_dataloader
data_preprocessor = dict(num_classes=100)
