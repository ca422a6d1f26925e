# SGD as MoCo v1: learning rate .03 for batch 256, a tenth after 120 and after 160 epochs.
_base_ = './sgd_cosine_200e.py'

param_scheduler = [dict(type='MultiStepLR', milestones=[120, 160], gamma=0.1, by_epoch=True)]
