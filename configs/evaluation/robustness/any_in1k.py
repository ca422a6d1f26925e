# Accuracy of a fine-tuned classifier on ImageNet-1K's own validation images (column IN of SDMP Table 4).
_base_ = [
    '../../_base_/evaluation/datasets/in1k.py',
    '../../_base_/evaluation/models/classifier_vit-s16.py',
    '../../_base_/evaluation/runtime.py',
]

protocol = dict(name='robustness', version=1, classes='all 1000', crops='Resize 256, CenterCrop 224')
# Twelve heads, as in MoCo v3. DINO's ViT-S has six, which weights do not tell: tools/evaluate.py takes the checkpoint's
# own, with tools/test.py pass --cfg-options model.backbone.arch.num_heads=6.
# The test alone: the checkpoint is trained already.
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
