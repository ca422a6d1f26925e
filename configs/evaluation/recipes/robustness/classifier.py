# Accuracy of a fine-tuned classifier of ImageNet-1K. On its own validation images that is column IN of SDMP, Table 4.
_base_ = '../../_base_/classifier.py'

protocol = dict(name='robustness', version=1, classes='all 1000', crops='Resize 256, CenterCrop 224')
views = 'plain'
# The model is that of the checkpoint's own config, whose heads weights do not tell (twelve in MoCo v3's ViT-S, six in
# DINO's); this one only serves checkpoints without a config.
model = dict(
    type='mmpretrain.ImageClassifier',
    backbone=dict(),
    neck=dict(type='PooledOutput'),
    head=dict(
        type='mmpretrain.LinearClsHead',
        num_classes=1000,
        in_channels=1,
        loss=dict(type='mmpretrain.CrossEntropyLoss'),
    ),
)
# The test alone: the checkpoint is trained already.
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
