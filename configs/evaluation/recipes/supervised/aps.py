# Vision transformers on CIFAR from scratch, 300 epochs (APS, Table 2), by the recipe of APS' fine-tuning.
_base_ = '../finetune/aps.py'

protocol = dict(name='supervised')
schedule = dict(epochs=300)
