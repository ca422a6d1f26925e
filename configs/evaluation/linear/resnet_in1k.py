# Any ResNet on ImageNet-1K: linear probe, the recipe of MoCo v2 and MixCo.
_base_ = './r50_in1k.py'
