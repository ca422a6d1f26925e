# ResNets fine-tuned on 1 % of ImageNet-100, evenly chosen from the classes. Not from a paper.
_base_ = './resnet_in100.py'

train_dataloader = dict(dataset=dict(dataset=dict(share=0.01)))
protocol = dict(share=0.01)
