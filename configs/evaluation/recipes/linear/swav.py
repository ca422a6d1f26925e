# SwAV's linear probe of ResNets: SGD, rate .3 at batch 256, weight decay 1e-6, 100 epochs, cosine per epoch.
_base_ = './simsiam.py'

protocol = dict(recipe='swav')
optimizer = dict(type='SGD', lr=0.3, weight_decay=1e-6)
schedule = dict(epochs=100)
batch = 256
