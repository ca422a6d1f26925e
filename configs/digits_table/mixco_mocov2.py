# MixCo on MoCo v2: the mixtures of half-batches share the queries' forward pass (docs/digits_table.md).
_base_ = './mocov2.py'

model = dict(
    mixer=dict(type='Mixup', pairing='halves', share=dict(type='Uniform')),
    streams=dict(mix1=dict(mix='view1')),
    joint=[('view1', 'mix1')],
    terms=[('view1', 'view2', 1.0), ('mix1', 'view2', 1.0, dict(temperature=0.05, among='batch'))],
)
