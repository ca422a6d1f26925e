# VOC 2007, several labels per image. No crop: OpenSelfSup resizes the short side to 256, then the image to a square.
views = dict(
    plain=dict(
        test=[
            dict(type='LoadImage'),
            dict(type='mmpretrain.ResizeEdge', scale=256, edge='short', backend='pillow', interpolation='bilinear'),
            dict(type='Resize', scale=(224, 224), backend='pillow', interpolation='bilinear'),
            dict(type='mmpretrain.PackInputs', algorithm_keys=('present',)),
        ]
    )
)
images = dict(type='VOC07', data_root='data/VOCdevkit/VOC2007')
splits = dict(train=dict(split='trainval'), test=dict(split='test'))
num_classes = 20
files = True  # images are files, which may be unreadable
protocols = ('svm', 'lowshot')
backbone = dict(type='mmpretrain.ResNet', depth=50)
