# DeiT for 100 epochs (SDMP, Table 11).
_base_ = './deit.py'

train_cfg = dict(max_epochs=100)
variants = None
