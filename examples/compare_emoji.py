# Do mixed images help to recognise the same thing drawn by another hand? PatchMix and SDMP beside MoCo v3 on emoji:
#     python tools/emoji.py data/emoji && mixcl compare examples/compare_emoji.py --out work_dirs/emoji
# The stored results count as done; without that line it takes an hour and a half of one core.
_SMALL = {
    'model.backbone.arch': dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384),
    'model.backbone.patch_size': 8,
    'model.neck': dict(hidden_channels=512, out_channels=128),
    'model.predictor.hidden_channels': 512,
    'model.target.momentum': 0.97,
    'model.objective.temperature': 0.1,
    'optimizer.lr': 4e-3,
    'data.views.all.crop': (0.7, 1.0),
    'measure.every': 49,  # at the end
}
_TERMS = [('view1', 'view2', 1.0), ('mix2', 'view1', 0.5), ('mix2', 'mix1', 0.5)]
_THIRD = {f'model.streams.{view}.keep': 1 / 3 for view in ('view1', 'view2')}

data = 'emoji'
equal = 'epochs'
epochs = 49  # of 16 steps
batch_size = 128
runs = dict(
    mocov3=dict(config='mocov3/vit-xs4_digits', options=_SMALL),
    third=dict(config='mocov3/vit-xs4_digits', options=_SMALL | _THIRD),
    patchmix=dict(config='patchmix/vit-xs4_digits', options=_SMALL | {'model.terms': _TERMS}),
    sdmp=dict(config='sdmp/vit-s16_in1k_mocov3', options=_SMALL),
)
pairs = [('patchmix', 'mocov3'), ('sdmp', 'mocov3'), ('third', 'mocov3'), ('patchmix', 'third')]
_CHOICES = dict(mocov3=(28.1, 24.0), third=(21.5, 17.0), patchmix=(22.3, 22.1), sdmp=(28.7, 27.0))
tried = [  # on drawings, and after trainings, of which no result is
    f'{run}: temperature .1 of .1 ({sharp}) and .2 ({soft}), by twins of the drawings held out for choices, one seed.'
    for run, (sharp, soft) in _CHOICES.items()
]
results = 'compare_emoji.json.xz'
named = 'twins@emoji_twins'  # each drawing looks for its twin among the held-out drawings of the other house
measures = [named, 'knn']
