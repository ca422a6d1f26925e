# DINO with 2 local crops, 100 epochs (SDMP, Table 10: linear 71.5).
_base_ = './vit-s16_in1k_100e.py'

training_pipeline = _base_.training_pipeline
training_pipeline[1]['num_views'] = [1, 1, 2]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
model = dict(
    views=dict(local=2),
    terms=[
        ('view1', 'view2', 1 / 6),
        ('view2', 'view1', 1 / 6),
        ('local', 'view1', 2 / 6),
        ('local', 'view2', 2 / 6),
    ],
)
