# Fine-tuning of ResNets: Nesterov SGD, .01 at batch 256, 100 epochs, cosine per epoch. Not from a paper.
_base_ = '../../_base_/resnet.py'

protocol = dict(name='finetune', version=1, recipe='resnet', encoder='online', feature='pooled output')
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4),
    paramwise_cfg=dict(flat_decay_mult=0.0),
)
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=100, val_interval=1)
variants = [
    dict(data='digits', batch=128, epochs=30),
    dict(data='fashionmnist', epochs=15),
]
