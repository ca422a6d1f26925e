# kNN as PatchMix's released code does it: through the untrained classifier that it leaves on the model.
_base_ = './backbone.py'

protocol = dict(feature='backbone output through a random linear map to 1000 values')
model = dict(feature=dict(type='RandomHead', channels=1000, seed=0))
