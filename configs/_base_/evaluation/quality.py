# Quality of a representation without a classifier, and the classes as clusters: ten of them, as in MixCo's Figure 3.
clusters = dict(classes=10, images=1000, seed=0)
quality_protocol = dict(
    name='quality',
    version=1,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head',
    without_labels='test images',
    clusters_of='training images, not augmented',
    **clusters,
)
quality_evaluator = dict(type='RepresentationQuality', **clusters)
