# Quality of a representation without a classifier, and of ten classes as clusters, as in MixCo's Figure 3.
_base_ = '../../_base_/features.py'

clusters = dict(classes=10, images=1000, seed=0)
protocol = dict(
    name='quality',
    version=1,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head',
    without_labels='test images',
    clusters_of='training images, not augmented',
    **clusters,
)
test_evaluator = dict(type='RepresentationQuality', **clusters)
