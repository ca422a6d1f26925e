# The quick start's PatchMix with a term between patches: a patch of a mixture finds itself in the view it is from.
_base_ = './vit-xs4_digits.py'

model = dict(
    patches=dict(tokens=8),
    terms=[*_base_.model.terms, ('mix2', 'view2', 0.5, dict(level='patch'))],
)
