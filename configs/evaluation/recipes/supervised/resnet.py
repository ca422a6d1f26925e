# ResNets from scratch: SGD, .1 at batch 256, weight decay 1e-4 on all parameters, as mmpretrain trains on ImageNet;
# cosine per epoch, 200 epochs (MixCo, Table 1: ResNet-18 100). MixCo gives no recipe.
_base_ = '../finetune/resnet.py'

protocol = dict(name='supervised')
optimizer = dict(lr=0.1, nesterov=False, spare='none')
schedule = dict(epochs=200)
variants = [dict(backbone='r18', data='tinyimagenet', epochs=100)]
