# Fine-tuning of the small ViT: AdamW, layer decay .75, 30 epochs. Not from a paper.
_base_ = './finetune_patchmix.py'

protocol = dict(recipe='small')
optim_wrapper = dict(optimizer=dict(lr=1e-3))
param_scheduler = [dict(type='TimmCosineLR', warmup=3, start=1e-6, final=1e-6, by_epoch=True)]
auto_scale_lr = dict(base_batch_size=128)
train_cfg = dict(max_epochs=30)
