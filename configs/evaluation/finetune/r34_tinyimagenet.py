# ResNet-34 on TinyImageNet enlarged to 224 pixels, fine-tuned. Not from a paper.
_base_ = './r50_tinyimagenet.py'

model = dict(backbone=dict(depth=34), head=dict(in_channels=512))
