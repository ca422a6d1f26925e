# SGD as MoCo v2 trains ResNets: learning rate .03 for batch 256, cosine per epoch to 0, no warm-up.
optim_wrapper = dict(type='OptimWrapper', optimizer=dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=1e-4))
param_scheduler = [dict(type='WarmupCosineLR', warmup=0, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(type='PretrainLoop', max_epochs=200, val_interval=10)
