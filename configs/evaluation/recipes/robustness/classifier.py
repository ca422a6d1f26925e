# Accuracy of a fine-tuned classifier of ImageNet-1K; on ImageNet-1K's validation images, column IN of SDMP, Table 4.
_base_ = '../../_base_/classifier.py'

protocol = dict(name='robustness', version=1, classes='all 1000', crops='Resize 256, CenterCrop 224')
views = 'plain'
# The model comes from the checkpoint's own config, since weights do not show the number of heads (twelve in MoCo v3's
# ViT-S, six in DINO's); the model below only serves checkpoints without a config.
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
# Tests only: the checkpoint is already trained.
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
