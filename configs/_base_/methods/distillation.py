# A pretrained teacher, frozen, of which the student learns how similar an image is to earlier ones (SEED, 2021, with
# temperatures of its own). Student and teacher see the same view. --teacher names other weights.
model = dict(
    type='ContrastiveLearner',
    neck=dict(type='MLPHead', hidden_channels=2048, last_norm=False, bias=True, last_bias=True),  # to its width
    target=dict(type='Teacher'),
    objective=dict(type='Similarity', temperature=0.07, key_temperature=0.07),
    memory=dict(queue=dict(size=8192, fed_by='view1')),
    terms=[('view1', 'view1', 1.0)],
)
views = dict(view1=dict(crop=(0.14, 1.0), steps=['jitter_mild', 'gray', 'blur_half', 'flip']))
# Not from a paper.
optimizer = dict(type='AdamW', lr=1e-3, betas=(0.9, 0.999), weight_decay=0.05, spare='flat', clip=3.0)
schedule = dict(type='WarmupCosineLR', epochs=100, warmup=5, final=1e-6)
batch = 256
