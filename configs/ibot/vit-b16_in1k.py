# iBOT, ViT-B/16 on ImageNet-1K: batch 1024, 400 epochs (PatchMix, Table 2 quotes linear 76.0, kNN 71.2).
_base_ = './vit-s16_in1k.py'

# The authors' code lacks the prototypes, the rate, the warm-up of the temperature, the frozen epochs, the clip and the
# crops of their ViT-B; the crops are from their paper.
global_crop = dict(_base_.global_crop, crop_ratio_range=(0.32, 1.0))
local_crop = dict(_base_.local_crop, crop_ratio_range=(0.05, 0.32))
views = dict(
    _base_.views,
    transforms=[*[[global_crop, *steps] for steps in _base_.byol_steps], [local_crop, *_base_.local_steps]],
)
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=[_base_.load, views, _base_.pack])))
model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(in_channels=768, normalised_prototypes=True),
)
train_cfg = dict(max_epochs=400)
