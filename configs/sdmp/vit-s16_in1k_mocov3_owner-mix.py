# SDMP on MoCo v3 with mixtures pulled to the mixture of the same image alone (Table 6: linear 72.5).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5, dict(target='owner'))])
