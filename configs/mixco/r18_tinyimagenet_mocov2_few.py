# MixCo on MoCo v2 with a part of the images (Figure 3): share=0.2 is 100 of the 500 that TinyImageNet has of a class.
_base_ = './r18_tinyimagenet_mocov2.py'

data = dict(share=0.2)
