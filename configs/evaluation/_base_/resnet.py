# A ResNet as a classifier; batch norm is synchronised over all processes.
_base_ = './classifier.py'

views = 'bilinear'
model = dict(backbone=dict(norm_cfg=dict(type='mixcl.SyncBatchNorm')))
