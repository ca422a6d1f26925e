# PatchMix's linear probe: Nesterov SGD without weight decay, .02 per 256 images (ViT-S), batch 1024, 100 epochs.
# Also for all rows of its Table 3, on CIFAR at batch 256, with .05 for ViT-T and .01 for ViT-B.
_base_ = '../../_base_/probe.py'

protocol = dict(name='linear', version=1, recipe='patchmix', encoder='target', feature='class token')
model = dict(head=dict(init_cfg=None))  # torch's initialisation
optimizer = dict(type='SGD', lr=0.02, momentum=0.9, nesterov=True)
schedule = dict(epochs=100, type='TimmCosineLR', per='epoch')
batch = 1024
variants = [
    dict(data='in1k in100'),
    dict(backbone='vit-t2', data='cifar10', lr=0.05, batch=256),
    dict(backbone='vit-b2', data='cifar10', lr=0.01, batch=256),
    dict(data='digits', lr=0.2, batch=128, every=10),
    dict(data='fashionmnist', lr=0.2, batch=256, epochs=20, every=5),
    dict(batch=256),
]
