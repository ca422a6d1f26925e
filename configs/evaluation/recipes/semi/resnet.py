# Few labels, ResNets (OpenSelfSup): SGD, .01 and 100 times that for the head, 20 epochs, x.2 after 12 and 16.
# Smaller data sets train five times as long, which is not from a paper.
_base_ = '../../_base_/resnet.py'

protocol = dict(name='semi', version=1, recipe='resnet', encoder='online', feature='pooled output')
optimizer = dict(type='SGD', lr=0.01, momentum=0.9, weight_decay=5e-4)
# the usual choice in the grid .001 to .1, x1 to x100
optim_wrapper = dict(paramwise_cfg=dict(custom_keys={'head.': dict(lr_mult=100)}))
schedule = dict(epochs=20, type='MultiStepLR', milestones=[12, 16], gamma=0.2, per='epoch')
batch = 256
variants = [
    dict(data='in1k'),
    dict(percent=1, data='digits', lr=0.32, batch=8, epochs=100, every=10),
    dict(percent=1, data='fashionmnist', lr=0.04, batch=64, epochs=100, every=10),
    dict(percent=1, data='in100', epochs=100, every=10),
    dict(percent=1, lr=0.02, batch=128, epochs=100, every=10),
    dict(data='digits', lr=0.08, batch=32, epochs=100, every=10),
    dict(epochs=100, every=10),
]
