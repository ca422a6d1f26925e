# VOC 2007, several labels per image. No crop: OpenSelfSup resizes the short side to 256, then the image to a square.
_base_ = '../runtime.py'

data = dict(
    images=dict(type='VOC07', data_root='data/VOCdevkit/VOC2007'),
    splits=dict(train=dict(split='trainval'), test=dict(split='test')),
    size=224,
    read=[
        dict(type='LoadImage'),
        dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bilinear'),
        dict(type='Resize', scale=(224, 224), backend='pillow', interpolation='bilinear'),
    ],
    files=True,
)
evaluated = dict(
    classes=20,
    protocols=['svm', 'lowshot'],
    pack=dict(algorithm_keys=('present',)),
    backbone=dict(type='mmpretrain.ResNet', depth=50),
)
