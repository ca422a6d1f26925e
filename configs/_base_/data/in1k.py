# ImageNet-1K at 224 pixels: a folder per class under train/ and val/.
_base_ = '../photos.py'

data = dict(
    images=dict(type='ImageNet1K', data_root='data/imagenet'),
    splits=dict(train=dict(split='train'), test=dict(split='val')),
)
evaluated = dict(
    classes=1000,
    processes=8,
    label_lists=True,  # SimCLR's 1percent.txt and 10percent.txt beside the folders, for semi
)
