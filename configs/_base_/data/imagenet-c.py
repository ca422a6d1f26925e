# ImageNet-C: mean accuracy over 15 corruptions x 5 severities, and mCE relative to AlexNet. Stored at 224 pixels.
_base_ = './imagenet-a.py'

data = dict(
    images=dict(type='ImageNetC', data_root='data/imagenet-c'),
    read=[dict(type='LoadImage'), dict(type='mmpretrain.CenterCrop', crop_size=224)],
    resize=None,
)
evaluated = dict(
    pack=dict(meta_keys=('img_path', 'corruption', 'severity')),
    robustness=dict(
        protocol=dict(
            classes='all 1000',
            crops='CenterCrop 224 (the images are stored at that size)',
            metric='top1: mean accuracy over the 75 settings; '
            'mce: errors relative to AlexNet, averaged over corruptions',
        ),
        test_evaluator=dict(type='CorruptionRobustness'),
    ),
)
