# ImageNet-A: accuracy of a fine-tuned classifier of ImageNet-1K, among the 200 classes of the data set.
_base_ = './any_in1k.py'

protocol = dict(classes='the 200 of the data set')
test_dataloader = dict(
    dataset=dict(
        dataset=dict(_delete_=True, type='ImageNetA', data_root='data/imagenet-a', pipeline=_base_.evaluation_pipeline)
    )
)
test_evaluator = dict(_delete_=True, type='MaskedAccuracy')
