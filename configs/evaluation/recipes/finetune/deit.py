# DeiT's recipe, by which SDMP fine-tunes (Table 2; MoCo v3's own is 150 epochs of it): AdamW, 5e-4 per 512 images,
# batch 1024, every image three times per epoch, 5 epochs of warm-up; one learning rate for all layers.
# It fine-tunes the encoder that the method's linear probe takes: MoCo v3's online encoder, DINO's teacher.
# An average of the weights (decay .99996) is stored; the trained weights are evaluated.
_base_ = '../../_base_/vit.py'

protocol = dict(name='finetune', version=1, recipe='deit', feature='class token')
optimizer = dict(type='AdamW', lr=2.5e-4, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.05, spare='named')
schedule = dict(epochs=100, type='TimmCosineLR', warmup=5, start=1e-6, final=1e-5, per='epoch')
batch = 1024
repeats = 3
hooks = dict(average=dict(type='StoredAverageHook', momentum=4e-5))
variants = [dict(percent=1, epochs=300, every=10)]
