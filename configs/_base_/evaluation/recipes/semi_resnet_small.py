# Few labels of smaller data sets, ResNets: OpenSelfSup's rates, five times the epochs. Not from a paper.
_base_ = './semi_resnet.py'

param_scheduler = [dict(type='MultiStepLR', milestones=[60, 80], gamma=0.2, by_epoch=True)]
train_cfg = dict(max_epochs=100, val_interval=10)
