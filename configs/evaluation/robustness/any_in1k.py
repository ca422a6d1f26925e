# Accuracy of a fine-tuned classifier on ImageNet-1K's own validation images (column IN of SDMP Table 4).
_base_ = [
    '../../_base_/evaluation/datasets/in1k.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/runtime.py',
]

protocol = dict(name='robustness', version=1, classes='all 1000', crops='Resize 256, CenterCrop 224')
# The model is that of the checkpoint's own config, whose heads weights do not tell (twelve in MoCo v3's ViT-S, six in
# DINO's); the one above only serves checkpoints without a config.
# The test alone: the checkpoint is trained already.
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
