# What PatchMix, SDMP, MixCo, BSIM, WBSIM and APS were compared with on scikit-learn's digits (docs/results.md).
#     mixcl compare examples/compare_digits.py --out compared
# makes the tables again from stored results, and trains what is not stored: a run, a seed or a setting of yours.
results = 'compare_digits.json.xz'
measures = ['few_labels', 'nearest', 'linear_fast', 'few_finetuned']  # the last is stored for APS and its host only
baselines = ['pixels', 'pca', 'isomap', 'random', 'scratch']
equal = 'epochs'  # as each run says; an epoch has 22 steps
epochs = 200
batch_size = 64
data = 'digits'
seeds = 3

# Names with _ are for this file alone. Network, heads, optimiser and schedule are shared by all methods.
_SMALL = dict(embed_dims=96, num_layers=4, num_heads=3, feedforward_channels=384)
_VIT = dict(type='ContrastiveViT', arch=_SMALL, patch_size=4, fixed_position=True, position_offset=0.1, _delete_=True)
_RESNET = dict(type='mmpretrain.ResNet_CIFAR', depth=18, base_channels=16, stem_channels=16, _delete_=True)
_RESNET |= dict(norm_cfg=dict(type='BN'), zero_init_residual=False)
_HEADS = {'model.neck.hidden_channels': 512, 'model.neck.out_channels': 128}
_ADAMW = {'optimizer.lr': 8e-3, 'optimizer.weight_decay': 0.04, 'optimizer.spare': 'flat'}
_TEMPERATURE, _STREAMS, _MIXER, _TERMS = 'model.objective.temperature', 'model.streams', 'model.mixer', 'model.terms'


def _run(config, options, epochs=200, warmup=1 / 8):
    """A run with the common schedule; its warm-up is the share of a run that the paper has, not always whole epochs."""
    common = {'schedule.type': 'WarmupCosineLR', 'schedule.per': 'step', 'schedule.final': 1e-6}
    common['param_scheduler.0.warmup'] = warmup * epochs
    return dict(config=config, epochs=epochs, options=common | options)


def _momentum(epochs=200, steps=132):
    """EMA momentum that remembers the same share of every run: .97 for 200 epochs."""
    return {'model.target.momentum': 1 - steps / (22 * epochs)}


# The temperatures below were chosen among .1, .2, .4, .6 and 1, after the rates of SGD (.03, .06, .12 for 256 images),
# by few_labels of one run each, which learnt from 1,150 of the training images and was tested on the other 287.
def _vit(config, temperature, options=(), epochs=200, suffix=''):
    common = {'model.backbone': _VIT, **_HEADS, **_ADAMW, **_momentum(epochs), _TEMPERATURE: temperature}
    return _run(f'{config}/vit-xs4_digits{suffix}', {**common, **dict(options)}, epochs)


def _patchmix(options=(), weights=(1.0, 0.5, 0.5), temperature=1.0, epochs=200, patches=()):
    """PatchMix with weights of its terms. Variants keep its temperature, as in its paper; the frame has its own."""
    pairs = ('view1', 'view2'), ('mix2', 'view1'), ('mix2', 'mix1')
    terms = [(*pair, weight) for pair, weight in zip(pairs, weights, strict=True) if weight]
    return _vit('patchmix', temperature, {_TERMS: [*terms, *patches], **dict(options)}, epochs)


def _resnet(config, rate, options, epochs=200, warmup=1 / 20):
    sgd = dict(type='SGD', lr=rate, momentum=0.9, weight_decay=5e-4, _delete_=True)
    common = {'model.backbone': _RESNET, **_HEADS, 'optimizer': sgd, 'optim_wrapper.paramwise_cfg': None}
    return _run(config, {**common, **options}, epochs, warmup)


def _mocov2(rate, temperature, epochs=200, steps=132, mixco=False):
    """MoCo v2 or MixCo on it. With 132 steps of momentum some runs collapse, with 44 (.99) none does."""
    options = {'model.memory.queue.size': 1024, _TEMPERATURE: temperature, **_momentum(epochs, steps)}
    options['model.target.final_momentum'] = options['model.target.momentum']
    mixed = ('mix1', 'view2', 1.0, dict(temperature=temperature / 4, among='batch'))
    options |= {_TERMS: [('view1', 'view2', 1.0), mixed]} if mixco else {}
    name = 'mixco/r18_tinyimagenet_mocov2' if mixco else 'mocov2/r18_tinyimagenet'
    return _resnet(name, rate, options, epochs, warmup=0)


_BYOL = {'model.predictor.hidden_channels': 512, **_momentum()}
_MIXES = {_STREAMS: dict(mix1=dict(mix='view1'), mix2=dict(mix='view2'))}
_SDMP = {_MIXER: dict(type='Choice', mixers=[dict(type=name) for name in ('Mixup', 'CutMix', 'ResizeMix')]), **_MIXES}
_SDMP |= {'model.swap_views': 0.5, _TERMS: _patchmix()['options'][_TERMS]}
_PAIRS = [('view1', 'view2', 0.5), ('view2', 'view1', 0.5)]
_MIXCO = {_MIXER: dict(type='Mixup', pairing='halves', share=dict(type='Uniform')), **_MIXES, _TEMPERATURE: 1.0}
_UNOPPOSED = [(f'mix{one}', f'view{3 - one}', 0.5, dict(negatives=[])) for one in (1, 2)]
_MIXCO |= {'model.shared_plan': False, _TERMS: _PAIRS + _UNOPPOSED}
_MIXUP, _CUTMIX = dict(type='Mixup', share=dict(type='Beta', alpha=0.8)), dict(type='CutMix')
_CUTMIX_OR_MIXUP = dict(type='Choice', mixers=[dict(one, per_sample=False) for one in (_MIXUP, _CUTMIX)])
_THIRD = {_STREAMS: dict(view1=dict(keep=1 / 3), view2=dict(keep=1 / 3))}
_PATCH2, _MASKS = {'model.backbone': dict(_VIT, patch_size=2)}, {'model.backbone': dict(_VIT, mask_token=True)}
_APS = {**_PATCH2, **_HEADS, **_ADAMW, 'data_preprocessor': dict(mean=[127.5] * 3, std=[127.5] * 3)}
_APS |= {'data.views.all.crop': (0.15, 1.0), 'optimizer.lr': 2e-3, _TEMPERATURE: 0.1}
_PATCHMIX = {_MIXER: dict(type='PatchMix', patch_size=4), 'model.streams.mix2': dict(mix='view2'), 'model.patches': {}}
_OF_PATCHES = ('mix2', 'view2', 0.5, dict(level='patch'))
_MASKED = [(view, view, 0.5, dict(level='patch')) for view in ('view1', 'view2')]

runs = dict(
    patchmix=_patchmix(),
    frame=_patchmix(weights=(1.0, 0, 0), temperature=0.4),
    frame_longer=_patchmix(weights=(1.0, 0, 0), temperature=0.4, epochs=450),
    mocov3=_vit('mocov3', 0.6),
    mocov3_longer=_vit('mocov3', 0.6, epochs=225),
    sdmp=_vit('mocov3', 1.0, _SDMP),
    unmixed=_patchmix({'model.mixer.num_mix': 1}),
    **{f'{name}_images': _patchmix({'model.mixer.num_mix': count}) for name, count in (('two', 2), ('four', 4))},
    resizemix=_patchmix({_MIXER: dict(type='ResizeMix', _delete_=True)}),
    regionswap=_patchmix({_MIXER: dict(type='RegionSwap', cell=2, _delete_=True)}),
    cutmix_or_mixup=_patchmix({_MIXER: dict(_CUTMIX_OR_MIXUP, _delete_=True)}),
    two_terms=_patchmix(weights=(1.0, 1.0, 0)),
    mixture_to_view=_patchmix(weights=(0, 1.0, 0)),
    mixture_to_mixture=_patchmix(weights=(0, 0, 1.0)),
    **{f'weights_1_1_{last}': _patchmix(weights=(1.0, 1.0, float(last))) for last in (1, 3)},
    third=_vit('mocov3', 0.4, _THIRD),  # of the patches
    smoothing_10=_vit('mocov3', 1.0, {'model.objective.smoothing': 0.1}),
    smoothing_30=_vit('mocov3', 0.6, {'model.objective.smoothing': 0.3}),
    simclr=_resnet('simclr/r50_in1k', 0.03, {_TEMPERATURE: 1.0}),
    simclr_longer=_resnet('simclr/r50_in1k', 0.03, {_TEMPERATURE: 1.0}, 300),
    simclr_longest=_resnet('simclr/r50_in1k', 0.03, {_TEMPERATURE: 1.0}, 400),
    mixco_simclr=_resnet('simclr/r50_in1k', 0.03, _MIXCO),
    bsim_simclr=_resnet('bsim/r50_in1k_simclr', 0.06, {_TEMPERATURE: 0.6}),
    wbsim_simclr=_resnet('wbsim/r50_in1k_simclr', 0.03, {_TEMPERATURE: 0.6}),
    byol=_resnet('byol/r50_in1k', 0.12, _BYOL),
    byol_longer=_resnet('byol/r50_in1k', 0.12, _BYOL | _momentum(350), 350),
    bsim_byol=_resnet('bsim/r50_in1k_byol', 0.12, _BYOL),
    wbsim_byol=_resnet('wbsim/r50_in1k_byol', 0.12, _BYOL),
    mocov2=_mocov2(0.12, 0.6),
    mocov2_longer=_mocov2(0.12, 0.6, 275),
    mixco_mocov2=_mocov2(0.06, 0.2, mixco=True),
    mocov2_slow=_mocov2(0.03, 0.6, steps=44),
    mocov2_slow_longer=_mocov2(0.03, 0.6, 275, steps=44),
    mixco_mocov2_slow=_mocov2(0.03, 1.0, steps=44, mixco=True),
    mocov3_patch2=_vit('mocov3', 1.0, _PATCH2),
    aps=_run('aps/vit-t2_cifar10', _APS, warmup=1 / 80),  # the rate chosen first, among .001, .002 and .004
    patchmix_patches=_patchmix({'model.patches': dict(tokens=8)}, patches=[_OF_PATCHES]),
    # Other mixers on MoCo v3, at the temperature that was chosen for it, not for them.
    mocov3_longest=_vit('mocov3', 0.6, epochs=350),
    **{name: _vit(name, 0.6, suffix='_mocov3') for name in ('mixmask', 'scalemix', 'stitch')},
    # With optimiser, heads and momentum of their configs. Nothing was chosen for them: no verdicts beside others.
    **{name: _run(f'{name}/vit-xs4_digits', {}) for name in ('mae', 'simmim')},
    **{name: _run(f'{name}/vit-xs4_digits', {'model.backbone': _VIT}) for name in ('swav', 'dino')},
    dino_patches=_run('dino/vit-xs4_digits', {'model.backbone': _VIT, **_PATCHMIX, _TERMS: [*_PAIRS, _OF_PATCHES]}),
    ibot=_run('ibot/vit-xs4_digits', _MASKS),
    ibot_patches=_run('ibot/vit-xs4_digits', {**_MASKS, **_PATCHMIX, _TERMS: [*_PAIRS, *_MASKED, _OF_PATCHES]}),
)
_SEEDS = dict(patchmix=5, frame=5, frame_longer=5, mocov3=5, mocov3_longer=5, sdmp=5, mae=1, simmim=1, swav=1)
runs = {name: dict(run, seeds=_SEEDS.get(name)) for name, run in runs.items()}
pairs = [  # longer hosts make as many encoder passes; what is marked later was added when runs were known
    # PatchMix and SDMP beside their hosts
    *[('patchmix', host) for host in ('frame', 'frame_longer', 'mocov3', 'mocov3_longer', 'sdmp')],
    *[('sdmp', host) for host in ('mocov3', 'mocov3_longer')],
    # Mixers and numbers of images (PatchMix, Tables 5 and 6); the last one later
    *[(own, 'unmixed') for own in ('patchmix', 'resizemix', 'regionswap', 'cutmix_or_mixup')],
    *[('two_images', 'unmixed'), ('four_images', 'unmixed'), ('patchmix', 'two_images')],
    # Terms of the loss (Table 7); the others later
    *[(own, 'frame') for own in ('two_terms', 'mixture_to_view', 'mixture_to_mixture')],
    *[('patchmix', 'two_terms'), ('unmixed', 'frame'), ('unmixed', 'frame_longer'), ('unmixed', 'mocov3')],
    # Mixing, or softer targets and fewer patches
    *[pair for own in ('third', 'smoothing_10', 'smoothing_30') for pair in (('patchmix', own), (own, 'mocov3'))],
    *[('weights_1_1_1', 'patchmix'), ('weights_1_1_3', 'patchmix')],
    # MixCo, BSIM and WBSIM, ResNet-18; with slower keys later
    *[(own, 'simclr') for own in ('mixco_simclr', 'bsim_simclr', 'wbsim_simclr')],
    *[('mixco_simclr', 'simclr_longer'), ('bsim_simclr', 'simclr_longest'), ('wbsim_simclr', 'simclr_longest')],
    *[('bsim_byol', 'byol'), ('wbsim_byol', 'byol'), ('wbsim_byol', 'byol_longer')],
    *[(f'mixco_mocov2{keys}', f'mocov2{keys}{length}') for keys in ('', '_slow') for length in ('', '_longer')],
    # Other mixers; beside others than MoCo v3 later
    *[(own, 'mocov3') for own in ('mixmask', 'scalemix', 'stitch')],
    *[('mixmask', 'mocov3_longest'), ('stitch', 'mocov3_longer'), ('scalemix', 'sdmp'), ('scalemix', 'third')],
    # APS, and terms between patches
    *[('aps', 'mocov3_patch2'), *((f'{own}_patches', own) for own in ('patchmix', 'dino', 'ibot'))],
]
