# SwAV's linear probe of ResNets: SGD, rate .3 at batch 256, weight decay 1e-6, 100 epochs, cosine per epoch.
_base_ = './simsiam.py'

protocol = dict(recipe='swav')
optim_wrapper = dict(optimizer=dict(type='SGD', lr=0.3, weight_decay=1e-6))
auto_scale_lr = dict(base_batch_size=256)
train_cfg = dict(max_epochs=100)
