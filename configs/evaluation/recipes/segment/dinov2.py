# A linear layer on frozen tokens. From DINOv2 (section 7.4): the layer alone is trained, its scores are upsampled
# bilinearly, images have 512 pixels. From its released settings: AdamW at .001 for 16 crops, decay 1e-4, linear fall
# after a warm-up, crops at .5 to 2 times the size of which no class fills 75 %, batch normalisation, overlapping
# squares in tests. Ours: no distortion of colours, tokens of any backbone, 100 epochs but on VOC, where they are 437.
_base_ = '../../_base_/probe.py'

protocol = dict(
    name='segment',
    version=1,
    encoder='target',  # the EMA encoder; the online one where a checkpoint has no other
    feature='tokens after the last norm, or the last map',
    listed=('segment/miou', 'segment/pixel_accuracy'),
)
model = dict(
    type='Segmenter',
    backbone=dict(feature=dict(type='Tokens')),
    head=dict(_delete_=True, type='TokenClassifier'),
)
optimizer = dict(type='AdamW', lr=0.016, weight_decay=1e-4)
schedule = dict(epochs=100, type='PolyLR', warmup=4, start_factor=1e-6, power=1.0, eta_min=0.0)
batch = 16
measure = dict(every=25)
val_dataloader = dict(batch_size=1)  # images differ in size
test_dataloader = dict(batch_size=1)
test_evaluator = dict(_delete_=True, type='MeanIoU')
