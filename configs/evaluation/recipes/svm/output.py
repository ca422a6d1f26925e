# Linear SVMs, one per class, on the backbone's output.
_base_ = '../../_base_/features.py'

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
test_dataloader = dict(batch_size=64)
test_cfg = dict(labels='multiple', bank_dataloader=dict(batch_size=64))
# Each job needs 1 GB with 8192 dimensions; the number of jobs changes no result.
test_evaluator = [dict(type='VOCSVM', jobs=4)]
