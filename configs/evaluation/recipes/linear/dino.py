# DINO's linear probe: SGD without weight decay, .001 per 256 images, batch 1024, 100 epochs, the teacher's features.
_base_ = './mocov3.py'

protocol = dict(recipe='dino', encoder='target', feature='class tokens of the last 4 blocks')
views = 'bilinear_bicubic'
model = dict(backbone=dict(feature=dict(type='LastClassTokens', blocks=4)))
optimizer = dict(lr=1e-3)
schedule = dict(epochs=100)
