# MixCo's transfer to CIFAR (Table 1): rate 3 at batch 256, not scaled with the batch; enlarged images, normalised by
# the data set's own statistics, though those of pretraining are ImageNet's.
_base_ = './moco.py'

protocol = dict(normalisation="the data set's own mean and deviation")
statistics = 'own'
optimizer = dict(lr=3.0)
variants = []
