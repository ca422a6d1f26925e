# PatchMix with a term between patches, ViT-S/16 on ImageNet-1K: not from a paper. 16 patches of an image take part.
_base_ = './vit-s16_in1k.py'

model = dict(
    patches=dict(tokens=16),
    terms=[*_base_.model.terms, ('mix2', 'view2', 0.5, dict(level='patch'))],
)
