# Linear SVMs on VOC07, any backbone: one SVM per class on the backbone's output.
_base_ = '../../_base_/default_runtime.py'

protocol = dict(
    name='svm',
    version=1,
    encoder='online',
    feature="the backbone's output (class token, or pooled map), L2-normalised",
    bank='VOC07 trainval',
    queries='VOC07 test',
    svm='liblinear, squared hinge, dual, positives weighted by 2; C per class by 3-fold AP among 19 costs',
    metric='area under the precision-recall curve, interpolated precision; difficult objects left out',
)
model = dict(type='FrozenEncoder', backbone=dict(type='mmpretrain.ResNet', depth=50), feature=dict(type='Output'))
# ImageNet's mean and standard deviation, in RGB order. The pipeline gives BGR.
data_preprocessor = dict(
    type='mmpretrain.SelfSupDataPreprocessor', mean=[123.675, 116.28, 103.53], std=[58.395, 57.12, 57.375], to_rgb=True
)
# No crop: OpenSelfSup resizes the short side to 256 and then the whole image to a square.
evaluation_pipeline = [
    dict(type='LoadImage'),
    dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bilinear'),
    dict(type='Resize', scale=(224, 224), backend='pillow', interpolation='bilinear'),
    dict(type='mmpretrain.PackInputs', algorithm_keys=('present',)),
]
images = dict(type='VOC07', data_root='data/VOCdevkit/VOC2007', pipeline=evaluation_pipeline)
loader = dict(
    batch_size=64,
    num_workers=8,
    persistent_workers=True,
    pin_memory=True,
    drop_last=False,
    collate_fn=dict(type='default_collate'),
    sampler=dict(type='DefaultSampler', shuffle=False),
)
test_dataloader = dict(**loader, dataset=dict(type='KeyedDataset', dataset=dict(**images, split='test')))
test_cfg = dict(
    type='FeatureLoop',
    labels='multiple',
    bank_dataloader=dict(**loader, dataset=dict(type='KeyedDataset', dataset=dict(**images, split='trainval'))),
)
# Each of the processes needs 1 GB with 8192 dimensions; their number changes no result.
test_evaluator = [dict(type='VOCSVM', jobs=4)]
