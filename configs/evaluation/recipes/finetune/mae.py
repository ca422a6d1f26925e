# MAE's fine-tuning of ViT-B/16, on the class token of contrastive backbones or the average of the patches of MAE's:
# AdamW, 5e-4 per 256 images, layer decay .65 in BEiT's convention, 5 epochs of warm-up per step.
_base_ = './patchmix.py'

protocol = dict(recipe='mae', encoder='online', feature='backbone output')
model = dict(head=dict(init_cfg=dict(_delete_=True, type='TruncNormal', layer='Linear', std=2e-5)))
optimizer = dict(layer_decay=0.65)
optim_wrapper = dict(constructor='LayerDecayConstructor')
schedule = dict(
    _delete_=True,
    epochs=100,
    type='CosineAnnealingLR',
    warmup=5,
    start_factor=1e-4,
    # Ends at 1e-6 for the head, lower by the layer decay for each layer; eta_min would be the same for all.
    eta_min_ratio=5e-4,
    begin=5,
    end=100,
)
hooks = dict(average=None)
variants = []
