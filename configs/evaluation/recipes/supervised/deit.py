# DeiT: vision transformers from scratch, 300 epochs (SDMP, Tables 1, 2 and 11).
_base_ = '../finetune/deit.py'

protocol = dict(name='supervised')
model = dict(
    init_cfg=[
        dict(type='TruncNormal', layer='Linear', std=0.02),
        dict(type='Constant', layer='LayerNorm', val=1.0, bias=0.0),
    ]
)
train_cfg = dict(max_epochs=300)
variants = [
    dict(data='in1k in100'),
    dict(rate=2.5e-4, batch=256),
]
