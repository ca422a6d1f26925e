# MoCHi on MoCo v3, ViT-S/16 on ImageNet-1K: hard negatives mixed from the keys of the batch.
_base_ = '../mocov3/vit-s16_in1k.py'

model = dict(
    objective=dict(negatives=[dict(type='HardMix', hardest=1024, mixed=1024, mixed_with_query=128)]),
)
