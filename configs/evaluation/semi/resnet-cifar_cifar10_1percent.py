# ResNets with CIFAR's stem fine-tuned on 1 % of CIFAR-10, evenly chosen from the classes. Not from a paper.
_base_ = './resnet-cifar_cifar10.py'

train_dataloader = dict(batch_size=128, dataset=dict(dataset=dict(share=0.01)))
auto_scale_lr = dict(base_batch_size=128)
protocol = dict(share=0.01)
