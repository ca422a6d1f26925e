# MoCo v2 with a part of the images (MixCo, Figure 3): share=0.2 is 100 of the 500 that TinyImageNet has of a class.
_base_ = './r18_tinyimagenet.py'

data = dict(share=0.2)
