# The frame of PatchMix with its origin-to-origin term only: nothing is mixed (first row of Table 7).
_base_ = './vit-s2_cifar10.py'

model = dict(terms=[('view1', 'view2', 1.0)])
data = 'cifar100'
