# MoCo v3's linear probe of ResNets: .1 per 256 images (SDMP, Tables 1 and 5).
_base_ = './mocov3.py'

protocol = dict(feature='pooled output')
model = dict(backbone=dict(backbone=dict(norm_cfg=dict(type='BN'))))
optimizer = dict(lr=0.1)
variants = [dict(data='cifar10', batch=256)]
