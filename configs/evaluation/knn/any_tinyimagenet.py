# kNN on TinyImageNet, enlarged to 224 pixels. Any backbone; by itself ResNet-18.
_base_ = ['../../_base_/datasets/tinyimagenet.py', '../../_base_/evaluation/knn.py']
protocol = dict(resize=256, crop=224)
model = dict(backbone=dict(_delete_=True, type='mmpretrain.ResNet', depth=18))
train_dataloader = None
val_dataloader = None
val_cfg = None
val_evaluator = None
