# iBOT, ViT-B/16 on ImageNet-1K: batch 1024, 400 epochs (PatchMix, Table 2 quotes linear 76.0, kNN 71.2).
_base_ = './vit-s16_in1k.py'
model = dict(
    backbone=dict(arch=dict(embed_dims=768, num_layers=12, num_heads=12, feedforward_channels=3072)),
    neck=dict(normalised_prototypes=True),
)
# The authors' code lacks the prototypes, the rate, the warm-up of the temperature, the frozen epochs, the clip and the
# crops of their ViT-B; the crops are from their paper.
views = dict(all=dict(crop=(0.32, 1.0)), local=dict(crop=(0.05, 0.32)))
schedule = dict(epochs=400)
