"""Methods of evidence.py and their configs: each method's own model on the same small network, views and schedule."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from mmengine.config import Config

from mixcl.recipes.prepared import prepared

ROWS = ('mixer', 'streams', 'terms', 'views', 'joint', 'shared_plan', 'swap_views')
"""Parts of a model that a method changes in its host."""
OWN_HOOKS = ('FrozenPrototypesHook', 'ParameterClipHook')
"""Hooks of their own configs that the rivals keep."""
MOMENTUM_SHARE = 132
"""Steps of a run times (1 - EMA momentum), the same for all methods but the rivals: a momentum of .97 for 4,400 steps.

The ``slow_keys`` of MoCo v2 and MixCo have .99; see docs/evidence.md, EMA momentum.
"""

TEMPERATURES = ('temperature', (0.1, 0.2, 0.4, 0.6, 1.0))
SGD_RATES = ('rate', (0.03, 0.06, 0.12))
"""Learning rates for 256 images."""
APS_RATES = (0.001, 0.002, 0.004)
"""From that of APS' recipe upwards; with .008, the rate of all methods with AdamW, the features of APS collapse."""
COMPONENTS = ('components', (3, 5, 10, 20))
FINE_TUNING_RATES = ('fine_tuning_rate', (3e-4, 1e-3, 3e-3))


@dataclass(frozen=True)
class DataSet:
    """A data set: its config, the number of training images, and the number of the last ones, held out for choices.

    ``width`` is the number of channels of the ResNet-18's first stage, ``probe`` has settings of the linear probe.
    """

    config: str
    train: int
    held_out: int
    width: int
    probe: Mapping[str, Any] = field(default_factory=dict)


SHORT_PROBE = dict(rates=(0.01, 0.1), weight_decays=(0.0,), epochs=20)
DATA = dict(
    digits=DataSet('patchmix/vit-xs4_digits', 1437, 287, width=16),
    fashionmnist5000=DataSet('patchmix/vit-xs4_fashionmnist', 5000, 1000, 16, SHORT_PROBE),
    fashionmnist=DataSet('patchmix/vit-xs4_fashionmnist', 60_000, 10_000, 64, SHORT_PROBE),
)


@dataclass(frozen=True)
class Method:
    """Source of a method's model, and the settings to be chosen for it.

    Attributes:
        config: config of the method, below ``configs/``; for a baseline that of its network.
        host: name of the plain host, which gives all of the model but :data:`ROWS`; None for a host.
        changes: changes in the model, for the small network and short runs.
        warmup: share of the run, as in the paper; that of the host.
        momentum_share: steps of a run times (1 - EMA momentum); that of the host.
        sampled_patches: whether views are some of their patches, as APS samples them; that of the host.
        backbone: 'vit', 'resnet', or 'own', that of the config, which then also says how views are made.
        chosen: settings with candidate values, chosen one after the other on held-out images; none for a rival. None
            stands for the value of all methods. With a ``fine_tuning_rate`` the method is also judged by fine-tuning.
        like: method whose choices are taken, in place of own ones.
        baseline: 'random', 'scratch' or a name in ``evidence_measures.BASELINES``; nothing is pretrained.
    """

    config: str
    host: str | None = None
    changes: Mapping[str, Any] = field(default_factory=dict)
    warmup: float = 1 / 8
    momentum_share: int = MOMENTUM_SHARE
    sampled_patches: bool = False
    backbone: str = 'vit'
    chosen: tuple[tuple[str, tuple], ...] = (TEMPERATURES,)
    like: str | None = None
    baseline: str | None = None


PREDICTOR: dict[str, Any] = dict(in_channels=128, hidden_channels=512, out_channels=128)
NECK: dict[str, Any] = dict(hidden_channels=512, out_channels=128)
RESNET = dict(type='mmpretrain.ResNet_CIFAR', depth=18, norm_cfg=dict(type='BN'), zero_init_residual=False)
PATCH2: dict[str, Any] = dict(backbone=dict(patch_size=2))
NETWORKS: dict[str, dict[str, Any]] = {'': {}, '_patch2': dict(changes=PATCH2), '_resnet': dict(backbone='resnet')}
"""Networks of the baselines, by the suffix of their names."""
MIXUP = dict(type='Mixup', share=dict(type='Beta', alpha=0.8), per_sample=False)
MIXUP_OR_CUTMIX = dict(_delete_=True, type='Choice', mixers=[MIXUP, dict(type='CutMix', per_sample=False)])


def _terms(to_view: float, to_mix: float) -> list[tuple[str, str, float]]:
    """Return PatchMix's terms: origin to origin (weight 1), mixture to origin, mixture to mixture."""
    rows = [('view1', 'view2', 1.0), ('mix2', 'view1', to_view), ('mix2', 'mix1', to_mix)]
    return [row for row in rows if row[2]]


def _patchmix(like: str | None = None, **changes: Any) -> Method:
    return Method('patchmix/vit-xs4_digits', changes=dict(terms=_terms(0.5, 0.5)) | changes, like=like)


def _mocov3(like: str | None = None, **changes: Any) -> Method:
    return Method('mocov3/vit-xs4_digits', changes=changes, like=like)


def _baseline(name: str, *chosen: tuple[str, tuple], **network: Any) -> Method:
    return Method('mocov3/vit-xs4_digits', chosen=chosen, baseline=name, **network)


_ablation = partial(_patchmix, like='patchmix')  # as the paper ablates, at one temperature
_resnet = partial(Method, backbone='resnet', chosen=(SGD_RATES, TEMPERATURES))
_resnet_without_temperature = partial(_resnet, chosen=(SGD_RATES,))
# Rivals keep loss, heads, optimizer, EMA momentum and OWN_HOOKS of their config; nothing is chosen.
_rival = partial(Method, chosen=())

OF_PATCHES = ('mix2', 'view2', 0.5, dict(level='patch'))
PAIRS = [('view1', 'view2', 0.5), ('view2', 'view1', 0.5)]
MASKED = [(view, view, 0.5, dict(level='patch')) for view in ('view1', 'view2')]
MASK_TOKEN: dict[str, Any] = dict(backbone=dict(mask_token=True))
# The queue is shorter than an epoch.
MOCOV2: dict[str, Any] = dict(
    config='mocov2/r18_tinyimagenet', changes=dict(neck=NECK, memory=dict(queue=dict(size=1024))), warmup=0
)
MIXED = dict(mixer=dict(type='PatchMix', patch_size=4), streams=dict(mix2=dict(mix='view2')))
LEARNED: dict[str, Any] = dict(backbone=dict(fixed_position=False))
METHODS = dict(
    pixels=_baseline('pixels'),
    pca=_baseline('pca', COMPONENTS),
    isomap=_baseline('isomap', ('neighbours', (5, 10, 20)), COMPONENTS),
    **{
        f'{name}{suffix}': _baseline(name, *chosen, **network)
        for suffix, network in NETWORKS.items()
        for name, chosen in dict(random=(), scratch=(FINE_TUNING_RATES,)).items()
    },
    mocov3=_mocov3(),
    patchmix=_patchmix(),
    patchmix_oto=_patchmix(terms=_terms(0, 0)),
    sdmp_mocov3=Method('sdmp/vit-s16_in1k_mocov3', 'mocov3'),
    patchmix_resizemix=_ablation(mixer=dict(_delete_=True, type='ResizeMix')),
    patchmix_regionswap=_ablation(mixer=dict(_delete_=True, type='RegionSwap', cell=2)),
    patchmix_cutmix_mixup=_ablation(mixer=MIXUP_OR_CUTMIX),
    patchmix_m1=_patchmix(mixer=dict(num_mix=1)),  # a host, with its own choice
    patchmix_m2=_ablation(mixer=dict(num_mix=2)),
    patchmix_m4=_ablation(mixer=dict(num_mix=4)),
    patchmix_oto_mto=_ablation(terms=_terms(1, 0)),
    patchmix_mto=_ablation(terms=[('mix2', 'view1', 1.0)]),
    patchmix_mtm=_ablation(terms=[('mix2', 'mix1', 1.0)]),
    patchmix_1_1_1=_ablation(terms=_terms(1, 1)),
    patchmix_1_1_3=_ablation(terms=_terms(1, 3)),
    mocov3_smooth10=_mocov3(objective=dict(smoothing=0.1)),
    mocov3_smooth30=_mocov3(objective=dict(smoothing=0.3)),
    mocov3_keep33=_mocov3(streams=dict(view1=dict(keep=1 / 3), view2=dict(keep=1 / 3))),
    mocov3_patch2=Method(
        'mocov3/vit-xs4_digits',
        changes=PATCH2,
        chosen=(TEMPERATURES, ('rate', (None, *APS_RATES)), FINE_TUNING_RATES),
    ),
    aps_patch2=Method(
        'aps/vit-t2_cifar10',
        changes=dict(PATCH2, neck=dict(NECK, in_channels=96), predictor=PREDICTOR),
        warmup=1 / 80,
        sampled_patches=True,
        chosen=(('rate', APS_RATES), TEMPERATURES, FINE_TUNING_RATES),
    ),
    simclr=_resnet('simclr/r50_in1k', changes=dict(neck=NECK), warmup=1 / 20),
    mixco_simclr=_resnet('mixco/r18_tinyimagenet_simclr', 'simclr'),
    bsim_simclr=_resnet('bsim/r50_in1k_simclr', 'simclr'),
    wbsim_simclr=_resnet('wbsim/r50_in1k_simclr', 'simclr'),
    mocov2=_resnet(**MOCOV2),
    mixco_mocov2=_resnet('mixco/r18_tinyimagenet_mocov2', 'mocov2'),
    mocov2_slow_keys=_resnet(**MOCOV2, momentum_share=44),
    mixco_mocov2_slow_keys=_resnet('mixco/r18_tinyimagenet_mocov2', 'mocov2_slow_keys'),
    byol=_resnet_without_temperature('byol/r50_in1k', changes=dict(neck=NECK, predictor=PREDICTOR), warmup=1 / 20),
    bsim_byol=_resnet_without_temperature('bsim/r50_in1k_byol', 'byol'),
    wbsim_byol=_resnet_without_temperature('wbsim/r50_in1k_byol', 'byol'),
    patchmix_learned=_ablation(**LEARNED),
    patchmix_oto_learned=_patchmix(**LEARNED, terms=_terms(0, 0), like='patchmix_oto'),
    mocov3_learned=_mocov3(**LEARNED, like='mocov3'),
    mae=_rival('mae/vit-xs4_digits', backbone='own'),
    simmim=_rival('simmim/vit-xs4_digits', backbone='own'),
    swav=_rival('swav/vit-xs4_digits'),
    dino=_rival('dino/vit-xs4_digits'),
    ibot=_rival('ibot/vit-xs4_digits', changes=MASK_TOKEN),
    patchmix_patches=_ablation(terms=[*_terms(0.5, 0.5), OF_PATCHES], patches=dict(tokens=8)),
    dino_patches=_rival('dino/vit-xs4_digits', changes=dict(MIXED, terms=[*PAIRS, OF_PATCHES], patches={})),
    ibot_patches=_rival('ibot/vit-xs4_digits', changes=dict(MIXED, **MASK_TOKEN, terms=[*PAIRS, *MASKED, OF_PATCHES])),
)


def evidence_config(name: str, data: str, epochs: int, settings: Mapping[str, float], held_out: bool) -> Config:
    """Return the config of a run of the method with this ``name``, with the settings chosen for it.

    With ``held_out`` the run trains and learns to classify on all training images but the last ones, and is tested on
    these, so that choices never see a test image.
    """
    own, images = METHODS[name], DATA[data]
    host = METHODS[own.host] if own.host else own
    cfg = _read(images.config)
    cfg.train_dataloader.batch_size = batch = 256 if data == 'fashionmnist' else 64
    learnt, bank, tested = (
        part.dataset for part in (cfg.train_dataloader.dataset, cfg.val_cfg.bank_dataloader, cfg.val_dataloader)
    )
    if data != 'digits':  # images as they are, not a part of an enlargement
        bank.pipeline, tested.pipeline = bank.pipeline[-1:], tested.pipeline[-1:]
    learnt.indices = bank.indices = kept = images.train - held_out * images.held_out
    if held_out:
        tested.update(split='train', indices=[*range(kept, images.train)])
    cfg.model = _model(cfg, own, host, images)
    cfg.param_scheduler[0].warmup = host.warmup * epochs
    cfg.train_cfg.update(max_epochs=epochs, val_interval=epochs)
    cfg.default_hooks.checkpoint.update(interval=max(epochs // 8, 1), max_keep_ckpts=1)
    cfg.visualizer.vis_backends = [dict(type='LocalVisBackend')]
    cfg.custom_hooks = [dict(type='BannerHook')]
    if host.sampled_patches:
        learnt.pipeline = _sampling_patches(learnt.pipeline)
        cfg.train_cfg.type = 'ChunkedPretrainLoop'
    if not (own.chosen or own.baseline):  # a rival
        theirs = _read(own.config)
        cfg.custom_hooks += [hook for hook in theirs.custom_hooks if hook['type'] in OWN_HOOKS]
        cfg.optim_wrapper = theirs.optim_wrapper
        if own.backbone == 'own':
            learnt.pipeline = theirs.train_dataloader.dataset.dataset.pipeline
    elif own.chosen and cfg.model.get('target', {}).get('momentum'):
        momentum = max(1 - host.momentum_share / (epochs * (kept // batch)), 0.9)
        cfg.model.target.update({key: momentum for key in ('momentum', 'final_momentum') if key in cfg.model.target})
    if own.backbone == 'resnet':  # as small data sets are usually trained
        optimizer = dict(type='SGD', lr=0.06 * batch / 256, momentum=0.9, weight_decay=5e-4)
        cfg.optim_wrapper = dict(type='OptimWrapper', optimizer=optimizer)
    if 'rate' in settings:
        cfg.optim_wrapper.optimizer.lr = settings['rate'] * batch / 256
    if 'temperature' in settings:
        _set_temperature(cfg.model, settings['temperature'])
    # `default_encoder` reads this name, so that all methods on a network are judged by the same encoder.
    cfg.config_name = images.config
    return cfg


def _model(cfg: Config, own: Method, host: Method, images: DataSet) -> Any:
    """Return the host's model with the rows of the method, on the data set's ViT or a ResNet-18."""
    network: dict[str, Any] = dict(backbone=dict(cfg.model.backbone, _delete_=True))
    if own.backbone == 'resnet':
        backbone = dict(RESNET, base_channels=images.width, stem_channels=images.width, _delete_=True)
        network = dict(backbone=backbone, neck=dict(in_channels=8 * images.width))
    cfg.model = _read(host.config).model
    cfg.model.update({name: value for name, value in _read(own.config).model.items() if name in ROWS})
    for changes in ({} if own.backbone == 'own' else network, host.changes, own.changes):
        cfg.merge_from_dict(dict(model=copy.deepcopy(dict(changes))))  # merging takes `_delete_` out
    return cfg.model


def _sampling_patches(pipeline: list[Any]) -> list[dict[str, Any]]:
    """Return a pipeline of two views as APS has it: 16 of 64 patches of each view, sampled to overlap little."""
    *before, views, packing = pipeline
    crop = dict(type='RecordedResizedCrop', crop_ratio_range=(0.15, 1.0))
    recorded = [[dict(view[0], **crop), *view[1:]] for view in views.transforms]
    step = dict(type='SampledPatchPair', patch_size=2, ratio=0.25, power=3.0, transforms=recorded)
    return [*before, step, dict(packing, algorithm_keys=['tokens', 'patch_grid'])]


def _set_temperature(model: Any, value: float) -> None:
    """Set the temperature of a method, and scale those of single terms in proportion (MixCo on MoCo v2)."""
    ratio = value / model.objective.temperature
    model.objective.temperature = value
    for options in [row[3] for row in model.terms if len(row) > 3 and 'temperature' in row[3]]:
        options['temperature'] *= ratio


_prepared = cache(prepared)


def _read(name: str) -> Config:
    return copy.deepcopy(_prepared(name))
