# The kNN protocol of PatchMix, DINO and iBOT.
_base_ = '../../_base_/features.py'

votes = dict(neighbours=(10, 20, 100, 200), temperature=0.07)
protocol = dict(
    name='knn',
    version=1,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head',
    bank='training images, not augmented',
    **votes,
)
test_evaluator = dict(type='KNNAccuracy', **votes)
