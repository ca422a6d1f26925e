# ImageNet-C: mean accuracy of a fine-tuned classifier over 15 corruptions x 5 severities, and true mCE.
_base_ = './any_in1k.py'

protocol = dict(
    crops='CenterCrop 224 (the images are stored at that size)',
    metric='top1: mean accuracy over the 75 settings; mce: errors relative to AlexNet, averaged over corruptions',
)
evaluation_pipeline = [
    dict(type='LoadImage'),
    dict(type='mmpretrain.CenterCrop', crop_size=224),
    dict(type='mmpretrain.PackInputs', meta_keys=('img_path', 'corruption', 'severity')),
]
test_dataloader = dict(
    dataset=dict(
        dataset=dict(_delete_=True, type='ImageNetC', data_root='data/imagenet-c', pipeline=evaluation_pipeline)
    )
)
test_evaluator = dict(_delete_=True, type='CorruptionRobustness')
