# ResNets fine-tuned on 10 % of ImageNet-1K, the recipe of OpenSelfSup.
_base_ = [
    '../../_base_/evaluation/datasets/in1k_bilinear.py',
    '../../_base_/evaluation/models/classifier_r50.py',
    '../../_base_/evaluation/recipes/semi_resnet.py',
    '../../_base_/evaluation/runtime.py',
]
labelled = dict(type='LabelledSubset', list_file='10percent.txt', dataset=_base_.train_dataloader.dataset.dataset)
train_dataloader = dict(
    batch_size=32,  # per process: 256 on 8 GPUs
    dataset=dict(dataset=dict(_delete_=True, **labelled)),
)
protocol = dict(list_file='10percent.txt')
