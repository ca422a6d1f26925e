# DeiT for 100 epochs (SDMP, Table 11).
_base_ = './deit.py'

schedule = dict(epochs=100)
variants = []
