# TinyImageNet with the views of SimCLR, crops of 20 % and more (MixCo).
_base_ = './tinyimagenet.py'

training_pipeline = [
    dict(type='LoadImage'),
    dict(type='KeyedMultiView', num_views=[2], transforms=[[_base_.crop, *_base_.simclr_photometric]]),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
