"""The configs of evidence.py: every method's own model on one small backbone, with the views and schedule of all."""

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmengine.config import Config

CONFIGS = Path(__file__).parents[2] / 'configs'
ROWS = ('mixer', 'streams', 'terms', 'views', 'joint', 'shared_plan', 'swap_views')
"""The parts of a model that a method changes in its host."""

PROBES = dict(rates=(0.01, 0.1), weight_decays=(0.0,), epochs=20)
IMAGES: dict[str, dict[str, Any]] = dict(
    digits=dict(train=1437, validation=287, local=8, width=16, probes={}, values={'model.mixer.cell': 2}),
    fashionmnist5000=dict(
        part_of='fashionmnist',
        train=5000,
        validation=1000,
        local=12,
        width=16,
        probes=PROBES,
        values={'train_dataloader.batch_size': 64},
    ),
    fashionmnist=dict(train=60_000, validation=10_000, local=12, width=64, probes=PROBES, values={}),
)
"""By data set: the larger one whose first images it has (with all its test images); training images; how many of them,
the last ones, a run holds out for choices; pixels of local crops; channels of a ResNet's first stage; settings of the
linear probes where the default takes long; and what methods need for images of this size."""

EVALUATIONS = 8
"""In a run, the last one at its end."""


@dataclass(frozen=True)
class Method:
    """Where the model of a method comes from.

    Attributes:
        config: its config, below ``configs/``. A host gives the whole model, any other method :data:`ROWS` alone.
        passes: of the encoder per image and step, with gradient and without.
        host: the name of the plain host, or None.
        changes: made in the host's model, for the small backbone and the short run.
        pipeline: how views are made: 'two_views', 'local_crops' or 'sampled_patches'.
        backbone: 'vit' or 'resnet'.
    """

    config: str
    passes: tuple[int, int]
    host: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    pipeline: str = 'two_views'
    backbone: str = 'vit'


VIT_HEADS = dict(
    neck=dict(in_channels=96, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
)
RESNET_HEADS: dict[str, Any] = dict(neck=dict(hidden_channels=512, out_channels=128))
RESNET = dict(
    _delete_=True, type='mmpretrain.ResNet_CIFAR', depth=18, norm_cfg=dict(type='BN'), zero_init_residual=False
)
CUTMIX_MIXUP = dict(
    _delete_=True,
    type='Choice',
    mixers=[
        dict(type='Mixup', share=dict(type='Beta', alpha=0.8), per_sample=False),
        dict(type='CutMix', per_sample=False),
    ],
)
OTO, MTO, MTM = [('view1', 'view2', 1.0), ('mix2', 'view1', 1.0), ('mix2', 'mix1', 1.0)]


def _terms(local: int, mixed: int = 0) -> list[tuple[str, str, float]]:
    """DINO's terms for so many local crops, clean and mixed."""
    pairs = 2 + 2 * local
    clean = [('view1', 'view2', 1 / pairs), ('view2', 'view1', 1 / pairs)]
    clean += [('local', key, local / pairs) for key in ('view1', 'view2')]
    return clean + [('local_mix', key, 0.5) for key in ('view1', 'view2', 'mix1', 'mix2') if mixed]


def _patchmix(passes: tuple[int, int] = (2, 3), **model: Any) -> Method:
    return Method('patchmix/vit-xs4_digits', passes, changes=model)


def _of_mocov3(name: str, passes: tuple[int, int], **changes: Any) -> Method:
    return Method(f'{name}/vit-s16_in1k_mocov3', passes, 'mocov3', changes)


def _resnet(config: str, passes: tuple[int, int], host: str | None = None, **changes: Any) -> Method:
    return Method(config, passes, host, changes, backbone='resnet')


METHODS = dict(
    mocov3=Method('mocov3/vit-xs4_digits', (2, 2)),
    patchmix=_patchmix(),
    patchmix_oto=_patchmix((1, 1), terms=[OTO]),
    patchmix_mto=_patchmix((1, 1), terms=[MTO]),
    patchmix_mtm=_patchmix((1, 1), terms=[MTM]),
    patchmix_oto_mto=_patchmix((2, 2), terms=[OTO, MTO]),
    **{f'patchmix_m{number}': _patchmix(mixer=dict(num_mix=number)) for number in (1, 2, 4, 5)},
    patchmix_resizemix=_patchmix(mixer=dict(_delete_=True, type='ResizeMix')),
    patchmix_regionswap=_patchmix(mixer=dict(_delete_=True, type='RegionSwap', cell=4)),
    patchmix_cutmix_mixup=_patchmix(mixer=CUTMIX_MIXUP),
    sdmp_mocov3=_of_mocov3('sdmp', (2, 3)),
    imix_mocov3=_of_mocov3('imix', (2, 2)),
    unmix_mocov3=_of_mocov3('unmix', (4, 2)),
    dacl_mocov3=_of_mocov3('dacl', (2, 2)),
    mochi_mocov3=_of_mocov3(  # as many per key as at batch 4096
        'mochi',
        (2, 2),
        objective=dict(negatives=[dict(type='HardMix', hardest=32, mixed=32, mixed_with_query=4)]),
    ),
    aps_mocov3=Method('aps/vit-s16_in1k', (2, 2), changes=VIT_HEADS, pipeline='sampled_patches'),
    dino=Method(
        'dino/vit-s16_in1k',
        (6, 2),
        changes=dict(
            neck=dict(in_channels=96, hidden_channels=512, out_channels=1024),
            target=dict(momentum=0.99),
            objective=dict(num_prototypes=1024),
            views=dict(local=4),
            terms=_terms(local=4),
        ),
        pipeline='local_crops',
    ),
    sdmp_dino=Method(  # two of the four local crops are mixed
        'sdmp/vit-s16_in1k_dino', (6, 4), 'dino', dict(views=dict(local=2, spare=2), terms=_terms(local=2, mixed=2))
    ),
    simclr=_resnet('simclr/r50_in1k', (2, 0), **RESNET_HEADS),
    mixco_simclr=_resnet('mixco/r18_tinyimagenet_simclr', (4, 0), 'simclr'),
    bsim_simclr=_resnet('bsim/r50_in1k_simclr', (4, 0), 'simclr'),
    wbsim_simclr=_resnet('wbsim/r50_in1k_simclr', (4, 0), 'simclr'),
    # The target moves faster than at full size; the queue is shorter than an epoch: no image meets its older key.
    mocov2=_resnet(
        'mocov2/r18_tinyimagenet',
        (1, 1),
        target=dict(momentum=0.99, final_momentum=0.99),
        memory=dict(queue=dict(size=1024)),
    ),
    mixco_mocov2=_resnet('mixco/r18_tinyimagenet_mocov2', (2, 1), 'mocov2'),
    bsim_mocov2=_resnet('bsim/r50_in1k_mocov2', (1, 1), 'mocov2'),
    wbsim_mocov2=_resnet('wbsim/r50_in1k_mocov2', (2, 1), 'mocov2'),
    byol=_resnet('byol/r50_in1k', (2, 2), neck=RESNET_HEADS['neck'], predictor=VIT_HEADS['predictor']),
    bsim_byol=_resnet('bsim/r50_in1k_byol', (2, 2), 'byol'),
    wbsim_byol=_resnet('wbsim/r50_in1k_byol', (4, 2), 'byol'),
    simsiam=_resnet(  # the bottleneck is a quarter as wide as the output, as at full size
        'simsiam/r50_in1k',
        (2, 0),
        neck=dict(hidden_channels=512, out_channels=512),
        predictor=dict(in_channels=512, hidden_channels=128, out_channels=512),
    ),
    bsim_simsiam=_resnet('bsim/r50_in1k_simsiam', (2, 2), 'simsiam'),
    wbsim_simsiam=_resnet('wbsim/r50_in1k_simsiam', (4, 0), 'simsiam'),
)


def evidence_config(method: str, data: str, epochs: int, overrides: Mapping[str, Any], held_out: bool) -> Config:
    """The config of a run.

    Args:
        method: one of :data:`METHODS`.
        data: one of :data:`IMAGES`.
        epochs: of training.
        overrides: by dotted names; those of parts that the method does not have are left out.
        held_out: train and learn to classify on the training images but the last ones, and test on these, so that
            choices never see a test image.
    """
    own = METHODS[method]
    host = METHODS[own.host] if own.host else own
    images = IMAGES[data]
    cfg = _read(f'patchmix/vit-xs4_{images.get("part_of", data)}')
    backbone = RESNET if own.backbone == 'resnet' else dict(cfg.model.backbone, _delete_=True)
    model = _read(host.config).model
    if own is not host:
        model.update({name: value for name, value in _read(own.config).model.items() if name in ROWS})
    cfg.model = model
    for changes in (dict(backbone=backbone), host.changes, own.changes):
        cfg.merge_from_dict(dict(model=copy.deepcopy(changes)))  # merging takes `_delete_` out
    if own.backbone == 'resnet':
        width = images['width']
        cfg.model.backbone.update(base_channels=width, stem_channels=width)
        cfg.model.neck.in_channels = 8 * width
    _change(cfg, images['values'])
    cfg.train_dataloader.dataset.dataset.pipeline = _pipeline(host.pipeline, cfg, images['local'])
    every = max(epochs // EVALUATIONS, 1)
    cfg.param_scheduler = [
        dict(type='WarmupCosineLR', warmup=epochs // 10, final=1e-6, by_epoch=True, convert_to_iter_based=True)
    ]
    cfg.train_cfg = dict(type='PretrainLoop', max_epochs=epochs, val_interval=every)
    cfg.default_hooks.checkpoint.update(interval=every, max_keep_ckpts=1)
    cfg.visualizer.vis_backends = [dict(type='LocalVisBackend')]
    cfg.val_evaluator = [
        dict(type='KNNAccuracy', neighbours=(10,)),
        dict(type='LinearProbeSweep', **images['probes']),
        dict(type='FewLabels'),
    ]
    if own.backbone == 'resnet':  # as small data sets are usually trained
        optimizer = dict(type='SGD', lr=0.06 * cfg.train_dataloader.batch_size / 256, momentum=0.9, weight_decay=5e-4)
        cfg.optim_wrapper = dict(type='OptimWrapper', optimizer=optimizer)
    cfg.custom_hooks = [dict(type='BannerHook')]
    if host.pipeline == 'sampled_patches':
        cfg.train_cfg.type = 'ChunkedPretrainLoop'
        cfg.custom_hooks += [dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05)]
    if host.pipeline == 'local_crops':
        cfg.model.objective.warmup_epochs = epochs // 10
        cfg.custom_hooks += [dict(type='FrozenPrototypesHook', epochs=1)]
    if 'part_of' in images:
        _keep(cfg, images['train'])
    if held_out:
        _hold_out(cfg, images)
    _change(cfg, overrides)
    cfg.config_name = f'evidence/{method}_{data}'
    return cfg


def _keep(cfg: Config, first: int) -> None:
    cfg.train_dataloader.dataset.dataset.indices = cfg.val_cfg.bank_dataloader.dataset.indices = first


def _hold_out(cfg: Config, images: Mapping[str, Any]) -> None:
    _keep(cfg, images['train'] - images['validation'])
    cfg.val_dataloader.dataset.update(split='train', indices=-images['validation'])


def _change(cfg: Config, values: Mapping[str, Any]) -> None:
    cfg.merge_from_dict({name: value for name, value in values.items() if _has(cfg, name)})


def _has(cfg: Config, name: str) -> bool:
    """Whether a config has this value, in the model of its method."""
    part: Any = dict(cfg.items())
    for word in name.split('.'):
        if isinstance(part, list) and word.isdigit():
            part = part[int(word)]
        elif isinstance(part, Mapping) and word in part:
            part = part[word]
        else:
            return False
    return True


def _pipeline(kind: str, cfg: Config, local_pixels: int) -> list[dict[str, Any]]:
    before, views = cfg.training_pipeline[:-2], cfg.views
    crops = [view[0] for view in views]
    if kind == 'sampled_patches':  # a quarter of the patches of each view, sampled to overlap little
        recorded = [
            [{**crop, 'type': 'RecordedResizedCrop'}, *view[1:]] for crop, view in zip(crops, views, strict=True)
        ]
        step = dict(type='SampledPatchPair', patch_size=4, ratio=0.25, power=3.0, transforms=recorded)
        return [*before, step, dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid'])]
    step = dict(type='KeyedMultiView', num_views=[1, 1], transforms=list(views))
    if kind == 'local_crops':  # larger parts of the image than on photographs, to show strokes
        local = [{**crops[0], 'scale': local_pixels, 'crop_ratio_range': (0.2, 0.5)}, *views[0][1:]]
        step = dict(type='KeyedMultiView', num_views=[1, 1, 4], transforms=[*views, local])
    return [*before, step, dict(type='mmpretrain.PackInputs')]


def _read(name: str) -> Config:
    return Config.fromfile(CONFIGS / f'{name}.py')
