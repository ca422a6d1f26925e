# ResNets fine-tuned on 1 % of ImageNet-1K, the recipe of OpenSelfSup.
_base_ = './resnet_in1k_10percent.py'

train_dataloader = dict(dataset=dict(dataset=dict(list_file='1percent.txt')))
protocol = dict(list_file='1percent.txt')
