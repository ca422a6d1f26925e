# CIFAR-10 at 32 pixels.
_base_ = '../pretraining.py'

load = dict(type='RGBToBGR')
crop = dict(scale=32)
evaluation_pipeline = [
    load,
    dict(type='mmpretrain.ResizeEdge', scale=36, edge='short', backend='pillow', interpolation='bicubic'),
    dict(type='mmpretrain.CenterCrop', crop_size=32),
    _base_.pack,
]
images = dict(type='mmpretrain.CIFAR10', data_root='data/cifar10', download=False)

train_dataloader = dict(batch_size=512, dataset=dict(type='KeyedDataset', dataset=dict(**images, split='train')))
val_dataloader = dict(dataset=dict(**images, split='test', pipeline=evaluation_pipeline))
val_cfg = dict(bank_dataloader=dict(dataset=dict(**images, split='train', pipeline=evaluation_pipeline)))
test_dataloader = val_dataloader
test_cfg = val_cfg
