# The linear probe of MoCo v1 and v2: SGD without weight decay, rate 30 at batch 256, x.1 after 60 and 80 epochs.
# MixCo on TinyImageNet takes 3, not scaled with the batch.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='moco', encoder='online', feature='pooled output')
views = 'bilinear'
model = dict(backbone=dict(backbone=dict(norm_cfg=dict(type='BN'))))
optimizer = dict(type='SGD', lr=30.0, momentum=0.9)
schedule = dict(epochs=100, type='MultiStepLR', milestones=[60, 80], gamma=0.1, per='epoch')
batch = 256
variants = [
    dict(data='in1k in100'),
    dict(data='digits', lr=6.0, batch=128, every=10),
    dict(data='fashionmnist', lr=3.0, epochs=20, every=5),
    dict(lr=3.0),
]
