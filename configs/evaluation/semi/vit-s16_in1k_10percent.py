# ViT-S/16 fine-tuned on 10 % of ImageNet-1K (SDMP, Table 3: 66.7, 67.4). No recipe is published: SDMP's for all labels.
_base_ = '../finetune/vit-s16_in1k_sdmp.py'

labelled = dict(type='LabelledSubset', list_file='10percent.txt', dataset=_base_.train_dataloader.dataset.dataset)
train_dataloader = dict(dataset=dict(dataset=dict(_delete_=True, **labelled)))
protocol = dict(name='semi', list_file='10percent.txt')
