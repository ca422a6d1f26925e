# The small ViT from scratch, 100 epochs. Not from a paper.
_base_ = '../finetune/small.py'

protocol = dict(name='supervised')
optimizer = dict(layer_decay=None)
optim_wrapper = dict(constructor='FewGroupsConstructor')
schedule = dict(epochs=100)
variants = [dict(data='fashionmnist', lr=1e-3, batch=256, epochs=30)]
