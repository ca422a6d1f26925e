# DINO with 6 local crops, 100 epochs (SDMP, Table 10: linear 73.8).
_base_ = './vit-s16_in1k_100e.py'

training_pipeline = _base_.training_pipeline
training_pipeline[1]['num_views'] = [1, 1, 6]
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
model = dict(
    views=dict(local=6),
    terms=[
        ('view1', 'view2', 1 / 14),
        ('view2', 'view1', 1 / 14),
        ('local', 'view1', 6 / 14),
        ('local', 'view2', 6 / 14),
    ],
)
