# MoCo v3's fine-tuning: DeiT's recipe for 150 epochs. Papers' numbers of 100 epochs are not shown beside it.
_base_ = './deit.py'

protocol = dict(recipe='mocov3', encoder='online')
schedule = dict(epochs=150)
variants = []
