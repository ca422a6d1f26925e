# ResNets from scratch: SGD, .1 at batch 256, weight decay 1e-4, cosine per epoch. MixCo gives no recipe; mmpretrain's.
_base_ = './finetune_resnet.py'

protocol = dict(name='supervised')
optim_wrapper = dict(optimizer=dict(lr=0.1, nesterov=False))
