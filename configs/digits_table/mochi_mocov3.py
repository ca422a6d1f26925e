# MoCHi on MoCo v3: hard negatives mixed from the keys of the batch, as many per key as at batch 4096
# (docs/digits_table.md).
_base_ = './mocov3.py'

model = dict(
    objective=dict(negatives=[dict(type='HardMix', hardest=32, mixed=32, mixed_with_query=4)]),
)
