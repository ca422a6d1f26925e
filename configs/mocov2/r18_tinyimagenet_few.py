# MoCo v2 with a part of the images (MixCo, Figure 3): share=0.2 is 100 of the 500 that TinyImageNet has of a class.
_base_ = './r18_tinyimagenet.py'

part = dict(type='LabelledSubset', share=0.2, dataset=_base_.train_dataloader.dataset.dataset)
train_dataloader = dict(dataset=dict(dataset=dict(_delete_=True, **part)))
