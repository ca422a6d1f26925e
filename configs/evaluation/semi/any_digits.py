# Fine-tuning on 10 % of the digits, evenly chosen from the classes. Not from a paper.
_base_ = '../finetune/any_digits.py'

labelled = dict(type='LabelledSubset', share=0.1, seed=0, dataset=_base_.train_dataloader.dataset.dataset)
train_dataloader = dict(batch_size=32, dataset=dict(dataset=dict(_delete_=True, **labelled)))
protocol = dict(name='semi', share=0.1, seed=0)
auto_scale_lr = dict(base_batch_size=32)
train_cfg = dict(max_epochs=100, val_interval=10)
