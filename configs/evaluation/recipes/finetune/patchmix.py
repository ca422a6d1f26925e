# PatchMix's fine-tuning: AdamW, 5e-4 per 256 images (ViT-T on CIFAR: 1e-3), layer decay .75 in timm's convention,
# 10 epochs of warm-up. An average of the weights (decay .99996) is stored; the trained weights are evaluated.
_base_ = '../../_base_/vit.py'

protocol = dict(name='finetune', version=1, recipe='patchmix', encoder='target', feature='class token')
model = dict(head=dict(init_cfg=None))  # torch's initialisation
optimizer = dict(
    type='AdamW', lr=5e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05, spare='named', layer_decay=0.75
)
optim_wrapper = dict(constructor='TimmLayerDecayConstructor')
schedule = dict(epochs=100, type='TimmCosineLR', warmup=10, start=1e-6, final=1e-5, per='epoch')
batch = 1024
hooks = dict(average=dict(type='StoredAverageHook', momentum=4e-5))
variants = [
    dict(percent=1, data='in100', batch=256, epochs=300, every=10),
    dict(percent=1, batch=128, epochs=300, every=10),
    dict(data='in1k in100'),
    dict(percent=10, batch=256),
    dict(backbone='vit-t2', data='cifar10', lr=1e-3, batch=256),
    dict(batch=256),
]
