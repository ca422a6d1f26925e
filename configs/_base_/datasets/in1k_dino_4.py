# As DINO, four local crops to be mixed and four that stay (SDMP): the mixed ones are a view of their own.
_base_ = './in1k_dino.py'

training_pipeline = [
    dict(type='LoadImage'),
    dict(
        type='KeyedMultiView',
        num_views=[1, 1, 4, 4],
        transforms=[
            *[[_base_.global_crop, *photometric] for photometric in _base_.photometric_views],
            *[[_base_.local_crop, *_base_.local_photometric] for _ in range(2)],
        ],
    ),
    dict(type='mmpretrain.PackInputs'),
]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
