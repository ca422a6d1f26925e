# BSIM's probe of five depths at once (OpenSelfSup): Nesterov SGD, .01 at batch 256, 90 epochs, x.1 after 30 and 60.
protocol = dict(name='linear', version=1, recipe='bsim', encoder='online', feature='five depths, pooled to about 9000')
optim_wrapper = dict(
    type='OptimWrapper',
    constructor='FewGroupsConstructor',
    optimizer=dict(type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4),
    paramwise_cfg=dict(custom_keys={}),  # leaves out what is frozen
)
param_scheduler = [dict(type='MultiStepLR', milestones=[30, 60, 90], gamma=0.1, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='KeyedTrainLoop', max_epochs=90, val_interval=1)
