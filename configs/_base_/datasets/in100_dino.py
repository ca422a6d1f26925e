# ImageNet-100 with the crops of DINO.
_base_ = './in1k_dino.py'

images = dict(type='ImageNet100', data_root='data/imagenet', class_list='imagenet100.txt')

train_dataloader = dict(dataset=dict(dataset=images))
val_dataloader = dict(dataset=dict(dataset=images))
val_cfg = dict(bank_dataloader=dict(dataset=dict(dataset=images)))
test_dataloader = val_dataloader
test_cfg = val_cfg
