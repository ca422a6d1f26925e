# BSIM's probe of five depths of ResNet-50 at once (OpenSelfSup; BSIM, Table 2, feat1 to feat5): Nesterov SGD, .01 at
# batch 256, 90 epochs, x.1 after 30 and 60.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='bsim', encoder='online', feature='five depths, pooled to about 9000')
views = 'jitter'
model = dict(
    backbone=dict(backbone=dict(norm_cfg=dict(type='BN')), feature=dict(type='PooledStages')),
    head=dict(_delete_=True, type='StageProbes', map_channels=(64, 256, 512, 1024, 2048)),
)
optimizer = dict(type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4)
schedule = dict(epochs=90, type='MultiStepLR', milestones=[30, 60, 90], gamma=0.1, per='epoch')
batch = 256
test_evaluator = dict(_delete_=True, type='StageAccuracy', topk=(1, 5))
