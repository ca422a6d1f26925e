# Fine-tuning on 10 % of CIFAR-100, evenly chosen from the classes. Not from a paper.
_base_ = '../finetune/any_cifar100.py'

labelled = dict(type='LabelledSubset', share=0.1, seed=0, dataset=_base_.train_dataloader.dataset.dataset)
train_dataloader = dict(dataset=dict(dataset=dict(_delete_=True, **labelled)))
protocol = dict(name='semi', share=0.1, seed=0)
