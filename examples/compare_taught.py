# What does a teacher give a small network? A narrow ResNet-18 on digits: SimCLR and MixCo, or taught by the ViT of the
# quick start, with and without mixing; at equal steps, and with as many more as take SimCLR's time.
#     mixcl train patchmix/vit-xs4_digits && mixcl compare examples/compare_taught.py --out work_dirs/taught
# The stored results count as done; without that line it takes an hour and a half of one core.
_RESNET = dict(type='mmpretrain.ResNet_CIFAR', depth=18, base_channels=16, stem_channels=16, _delete_=True)
_RESNET |= dict(norm_cfg=dict(type='BN'), zero_init_residual=False)
_SIMCLR = {  # rate and temperature were chosen for examples/compare_digits.py
    'model.backbone': _RESNET,
    'model.neck.hidden_channels': 512,
    'model.neck.out_channels': 128,
    'optimizer': dict(type='SGD', lr=0.03, momentum=0.9, weight_decay=5e-4, _delete_=True),
    'optim_wrapper.paramwise_cfg': None,
    'schedule.type': 'WarmupCosineLR',
    'schedule.per': 'step',
    'schedule.final': 1e-6,
    'param_scheduler.0.warmup': 4,
    'model.objective.temperature': 1.0,
}
_MIXCO = {
    'model.mixer': dict(type='Mixup', pairing='halves', share=dict(type='Uniform')),
    'model.streams': dict(mix1=dict(mix='view1'), mix2=dict(mix='view2')),
    'model.shared_plan': False,
    'model.terms': [
        ('view1', 'view2', 0.5),
        ('view2', 'view1', 0.5),
        ('mix1', 'view2', 0.5, dict(negatives=[])),
        ('mix2', 'view1', 0.5, dict(negatives=[])),
    ],
}
_PLAIN = {'model.terms': [('view1', 'view1', 1.0)], 'model.mixer': None, 'model.streams': None}

results = 'compare_taught.json.xz'
data = 'digits'
equal = 'epochs'
epochs = 35  # of 22 steps
batch_size = 64
runs = dict(
    simclr=dict(config='simclr/r50_in1k', options=_SIMCLR),
    mixco=dict(config='simclr/r50_in1k', options=_SIMCLR | _MIXCO),
    taught=dict(config='distillation/r18_digits_mixed', options=_PLAIN),
    taught_longer=dict(config='distillation/r18_digits_mixed', options=_PLAIN, epochs=89),  # SimCLR's time
    taught_mixed=dict(config='distillation/r18_digits_mixed'),
    taught_mixed_longer=dict(config='distillation/r18_digits_mixed', epochs=53),
)
pairs = [
    *[(name, 'simclr') for name in ('mixco', 'taught', 'taught_longer', 'taught_mixed', 'taught_mixed_longer')],
    ('taught_mixed', 'taught'),
    ('taught_mixed_longer', 'taught_longer'),
]
measures = ['few_labels', 'knn', 'linear_fast']
