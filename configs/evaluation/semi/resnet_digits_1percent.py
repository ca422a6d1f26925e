# ResNets fine-tuned on 1 % of digits, evenly chosen from the classes. Not from a paper.
_base_ = './resnet_digits.py'

train_dataloader = dict(batch_size=8, dataset=dict(dataset=dict(share=0.01)))
auto_scale_lr = dict(base_batch_size=8)
protocol = dict(share=0.01)
