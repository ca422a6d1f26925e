# DINO's linear probe of ViT-B/16: the class token and the average of the patches (PatchMix, Table 2).
_base_ = './dino.py'

protocol = dict(feature='class token and average of the patches')
model = dict(backbone=dict(feature=dict(type='ClassTokenAndAverage', blocks=1)))
