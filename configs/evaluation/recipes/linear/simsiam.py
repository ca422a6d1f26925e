# SimSiam's linear probe: LARS without weight decay, .1 per 256 images, batch 4096, 90 epochs, cosine per epoch.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='simsiam', encoder='online', feature='pooled output')
views = 'bilinear'
model = dict(backbone=dict(backbone=dict(norm_cfg=dict(type='BN'))))
optimizer = dict(type='LARS', lr=0.1, momentum=0.9)
schedule = dict(epochs=90, per='epoch')
batch = 4096
