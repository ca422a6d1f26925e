# SDMP on MoCo v3 with both sources of a mixture weighted alike, whatever their shares (Table 6: linear 71.5).
_base_ = './vit-s16_in1k_mocov3.py'

model = dict(terms=[('view1', 'view2', 1.0), ('mix2', 'view1', 0.5, dict(target='even')), ('mix2', 'mix1', 0.5)])
