# LARS for BYOL: learning rate 4.8 for batch 4096.
_base_ = './lars_simclr_200e.py'

optim_wrapper = dict(optimizer=dict(lr=4.8))
auto_scale_lr = dict(base_batch_size=4096)
