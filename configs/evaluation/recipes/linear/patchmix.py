# PatchMix's linear probe: Nesterov SGD without weight decay, .02 per 256 images (ViT-S), batch 1024, 100 epochs.
# Also for all rows of its Table 3, on CIFAR at batch 256, with .05 for ViT-T and .01 for ViT-B.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='patchmix', encoder='target', feature='class token')
model = dict(head=dict(init_cfg=None))  # torch's initialisation
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=0.08, momentum=0.9, nesterov=True, weight_decay=0.0),
    paramwise_cfg=dict(custom_keys={}),  # leaves out frozen parameters
)
param_scheduler = [dict(type='TimmCosineLR', by_epoch=True)]
auto_scale_lr = dict(base_batch_size=1024)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=100, val_interval=1)
variants = [
    dict(data='in1k in100'),
    dict(backbone='vit-t2', data='cifar10', rate=0.05, batch=256),
    dict(backbone='vit-b2', data='cifar10', rate=0.01, batch=256),
    dict(data='digits', rate=0.1, batch=128, val_interval=10),
    dict(data='fashionmnist', rate=0.2, batch=256, epochs=20, val_interval=5),
    dict(rate=0.02, batch=256),
]
