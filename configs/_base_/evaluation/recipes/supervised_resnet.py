# ResNets from scratch: SGD, .1 at batch 256, weight decay 1e-4 on all parameters, as mmpretrain trains on ImageNet;
# cosine per epoch. MixCo gives no recipe.
_base_ = './finetune_resnet.py'

protocol = dict(name='supervised')
optim_wrapper = dict(optimizer=dict(lr=0.1, nesterov=False), paramwise_cfg=dict(flat_decay_mult=1.0))
