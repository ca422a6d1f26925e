# Any ResNet on TinyImageNet: linear probe, the recipe of MoCo v2 and MixCo.
_base_ = './r50_tinyimagenet.py'
