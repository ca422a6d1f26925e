# What the loaders of all classifiers share: those of pretraining, with the accuracy of the classifier in place of kNN.
_base_ = '../loaders.py'

val_cfg = dict(_delete_=True, type='ValLoop')
val_evaluator = dict(_delete_=True, type='mmpretrain.Accuracy', topk=(1, 5))
test_cfg = dict(_delete_=True, type='TestLoop')
test_evaluator = val_evaluator

# ImageNet's mean and standard deviation, in RGB order. The pipelines give BGR.
data_preprocessor = dict(
    _delete_=True,
    type='mmpretrain.ClsDataPreprocessor',
    num_classes=1000,
    mean=[123.675, 116.28, 103.53],
    std=[58.395, 57.12, 57.375],
    to_rgb=True,
)
