# PASCAL VOC 2012's segmentation, at the size and for the 40,000 steps of DINOv2's linear evaluation.
_base_ = './masks.py'

data = dict(
    images=dict(type='VOC12Segmentation', data_root='data/VOCdevkit/VOC2012'),
    splits=dict(train=dict(split='train'), test=dict(split='val')),
)
evaluated = dict(classes=21, segment=dict(schedule=dict(epochs=437, warmup=16), measure=dict(every=50)))
