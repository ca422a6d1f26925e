# WBSIM, ResNet-50 on ImageNet-1K: linear probes of five depths at once (BSIM, Table 2, feat1 to feat5).
_base_ = './r50_in1k_bsim.py'
