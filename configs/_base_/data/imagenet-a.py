# ImageNet-A: 200 classes of ImageNet-1K; a classifier of all 1000 chooses among these.
_base_ = './in1k.py'

data = dict(
    images=dict(_delete_=True, type='ImageNetA', data_root='data/imagenet-a'),
    splits=dict(_delete_=True, test=dict()),
)
evaluated = dict(
    protocols=['robustness'],
    robustness=dict(
        protocol=dict(classes='the 200 of the data set'), test_evaluator=dict(_delete_=True, type='MaskedAccuracy')
    ),
)
