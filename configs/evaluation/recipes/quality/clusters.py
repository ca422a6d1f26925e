# Quality of a representation without a classifier, and of ten classes as clusters, as in MixCo's Figure 3. LiDAR is of
# the views of the pretraining, where its images are there.
_base_ = '../../_base_/features.py'

clusters = dict(classes=10, images=1000, seed=0)
protocol = dict(
    name='quality',
    version=2,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='backbone output, no head',
    without_labels='test images',
    clusters_of='training images, not augmented',
    lidar='backbone output of training views of pretraining images',
    **clusters,
)
test_cfg = dict(lidar=dict(images=1000, views=50))
test_evaluator = dict(type='RepresentationQuality', **clusters)
