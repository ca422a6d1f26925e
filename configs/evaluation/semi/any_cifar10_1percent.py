# Fine-tuning on 1 % of CIFAR-10, evenly chosen from the classes. Not from a paper.
_base_ = './any_cifar10.py'

train_dataloader = dict(batch_size=128, dataset=dict(dataset=dict(share=0.01)))
optim_wrapper = dict(optimizer=dict(lr=2.5e-4))
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=300, val_interval=10)
protocol = dict(share=0.01)
