# ViT-S/16 fine-tuned on 1 % of ImageNet-1K, three times as long (SDMP, Table 3: 54.4, 55.5). No recipe is published.
_base_ = './vit-s16_in1k_10percent.py'

train_dataloader = dict(dataset=dict(dataset=dict(list_file='1percent.txt')))
train_cfg = dict(max_epochs=300, val_interval=10)
protocol = dict(list_file='1percent.txt')
