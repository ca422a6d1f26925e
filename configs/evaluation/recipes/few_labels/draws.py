# Class means and logistic regression on 1 to 20 labels per class: tells encoders apart that look alike with all labels.
# The values are ours.
_base_ = '../../_base_/features.py'

labels = dict(shots=(1, 2, 5, 20), draws=40, seed=0)
protocol = dict(
    name='few_labels',
    version=2,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head, L2-normalised; logistic: standardised over all training images, C = 1',
    trained_on='the labelled training images of each draw, not augmented',
    listed=[
        f'few{shot}_{measure}{part}'
        for shot in (1, 2, 5, 20)
        for measure in ('means', 'logistic')
        for part in ('', '_std')
    ],
    **labels,
)
test_evaluator = dict(type='FewLabels', **labels)
