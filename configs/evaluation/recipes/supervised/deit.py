# DeiT: vision transformers from scratch, 300 epochs (SDMP, Tables 1, 2 and 11).
_base_ = '../finetune/deit.py'

protocol = dict(name='supervised')
model = dict(
    init_cfg=[
        dict(type='TruncNormal', layer='Linear', std=0.02),
        dict(type='Constant', layer='LayerNorm', val=1.0, bias=0.0),
    ]
)
schedule = dict(epochs=300)
variants = [
    dict(data='in1k in100'),
    dict(batch=256),
]
