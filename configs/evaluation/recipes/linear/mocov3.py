# MoCo v3's linear probe: SGD without weight decay, 3 per 256 images (ViT), batch 1024, 90 epochs, cosine per epoch.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='mocov3', encoder='online', feature='class token')
views = 'bilinear'
optimizer = dict(type='SGD', lr=3.0, momentum=0.9)
schedule = dict(epochs=90, per='epoch')
batch = 1024
