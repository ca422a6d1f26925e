# WBSIM on SimSiam, ResNet-50 on ImageNet-1K: linear probe, SimSiam's recipe (BSIM, Table 2: 70.8).
_base_ = './r50_in1k_simsiam.py'
