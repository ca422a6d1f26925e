# Accuracy of a fine-tuned classifier of ImageNet-1K; on ImageNet-1K's validation images, column IN of SDMP, Table 4.
# The model comes from the checkpoint's own config, since weights do not show the number of heads (twelve in MoCo v3's
# ViT-S, six in DINO's); the one of the base only serves checkpoints without a config.
_base_ = '../../_base_/classifier.py'

protocol = dict(name='robustness', version=1, classes='all 1000', crops='Resize 256, CenterCrop 224')
