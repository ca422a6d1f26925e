# DINO without local crops, 100 epochs (SDMP, Table 10: linear 67.8).
_base_ = './vit-s16_in1k_100e.py'

training_pipeline = _base_.training_pipeline
training_pipeline[1].update(num_views=[1, 1], transforms=training_pipeline[1]['transforms'][:2])
train_dataloader = dict(dataset=dict(dataset=dict(pipeline=training_pipeline)))
model = dict(
    views=dict(_delete_=True, view1=1, view2=1),
    terms=[('view1', 'view2', 0.5), ('view2', 'view1', 0.5)],
)
