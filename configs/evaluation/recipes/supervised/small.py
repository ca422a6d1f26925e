# The small ViT from scratch, 100 epochs. Not from a paper.
_base_ = '../finetune/small.py'

protocol = dict(name='supervised')
optim_wrapper = dict(
    constructor='FewGroupsConstructor',
    paramwise_cfg=dict(
        _delete_=True,
        flat_decay_mult=0.0,
        custom_keys={'.cls_token': dict(decay_mult=0.0), '.pos_embed': dict(decay_mult=0.0)},
    ),
)
train_cfg = dict(max_epochs=100)
variants = [dict(data='fashionmnist', batch=256, epochs=30)]
