# Fine-tuning of ResNets: Nesterov SGD, .01 at batch 256, 100 epochs, cosine per epoch. Not from a paper.
_base_ = '../../_base_/resnet.py'

protocol = dict(name='finetune', version=1, recipe='resnet', encoder='online', feature='pooled output')
optimizer = dict(type='SGD', lr=0.01, momentum=0.9, nesterov=True, weight_decay=1e-4, spare='flat')
schedule = dict(epochs=100, per='epoch')
batch = 256
variants = [
    dict(data='digits', lr=0.02, batch=128, epochs=30),
    dict(data='fashionmnist', epochs=15),
]
