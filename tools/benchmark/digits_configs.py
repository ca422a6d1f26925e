"""The configs of digits_table.py: the methods' own models on one small ViT, on the digits, by one schedule."""

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmengine.config import Config

CONFIGS = Path(__file__).parents[2] / 'configs'
ROWS = ('mixer', 'streams', 'terms', 'views', 'joint', 'shared_plan', 'swap_views')
"""The parts of a model that a method changes in its host."""

VIT = dict(
    type='ContrastiveViT',
    arch=dict(embed_dims=64, num_layers=4, num_heads=2, feedforward_channels=256),
    img_size=16,
    patch_size=4,
)
"""Two thirds as wide as that of configs/patchmix/vit-xs4_digits.py, so that all runs take half an hour on two cores."""

HEADS = dict(
    neck=dict(in_channels=64, hidden_channels=512, out_channels=128),
    predictor=dict(in_channels=128, hidden_channels=512, out_channels=128),
)


@dataclass(frozen=True)
class Method:
    """Where the model of a row of the table comes from.

    Attributes:
        config: its config, below ``configs/``. A host gives the whole model, any other method :data:`ROWS` alone.
        host: the name of the plain host, or None.
        changes: made in the host's model, for the ViT and the short run.
        pipeline: how views are made: 'two_views', 'local_crops' or 'sampled_patches'.
        hooks: that the method adds.
    """

    config: str
    host: str | None = None
    changes: dict[str, Any] = field(default_factory=dict)
    pipeline: str = 'two_views'
    hooks: tuple[dict[str, Any], ...] = ()


def _terms(local: int, mixed: int = 0) -> list[tuple[str, str, float]]:
    """DINO's terms for so many local crops, clean and mixed."""
    pairs = 2 + 2 * local
    clean = [('view1', 'view2', 1 / pairs), ('view2', 'view1', 1 / pairs)]
    clean += [('local', key, local / pairs) for key in ('view1', 'view2')]
    return clean + [('local_mix', key, 0.5) for key in ('view1', 'view2', 'mix1', 'mix2') if mixed]


# Targets move faster than at full size, since a run has 220 steps. The queue of MoCo v2 is shorter than an epoch, so
# that no image meets its own older key; without batch normalisation there is nothing to shuffle.
METHODS = dict(
    mocov3=Method('mocov3/vit-s16_in1k', changes=HEADS),
    sdmp_mocov3=Method('sdmp/vit-s16_in1k_mocov3', 'mocov3'),
    imix_mocov3=Method('imix/vit-s16_in1k_mocov3', 'mocov3'),
    unmix_mocov3=Method('unmix/vit-s16_in1k_mocov3', 'mocov3'),
    dacl_mocov3=Method('dacl/vit-s16_in1k_mocov3', 'mocov3'),
    mochi_mocov3=Method(  # as many per key as at batch 4096
        'mochi/vit-s16_in1k_mocov3',
        'mocov3',
        dict(objective=dict(negatives=[dict(type='HardMix', hardest=32, mixed=32, mixed_with_query=4)])),
    ),
    aps_mocov3=Method(
        'aps/vit-s16_in1k',
        changes=HEADS,
        pipeline='sampled_patches',
        hooks=(dict(type='AdaptiveClipHook', momentum=0.4, alpha=1.05),),
    ),
    aps_mocov3_stopgrad=Method(
        'aps/vit-s2_cifar10', changes=dict(neck=dict(in_channels=64)), pipeline='sampled_patches'
    ),
    patchmix_oto=Method(
        'patchmix/vit-s16_in1k_oto', changes=dict(**HEADS, target=dict(momentum=0.99), mixer=dict(patch_size=4))
    ),
    patchmix=Method('patchmix/vit-s16_in1k', 'patchmix_oto', dict(mixer=dict(patch_size=4))),
    simclr=Method('simclr/r50_in1k', changes=dict(neck=dict(in_channels=64, hidden_channels=512))),
    mixco_simclr=Method('mixco/r18_tinyimagenet_simclr', 'simclr'),
    bsim_simclr=Method('bsim/r50_in1k_simclr', 'simclr'),
    mocov2=Method(
        'mocov2/r50_in1k',
        changes=dict(
            neck=dict(in_channels=64, hidden_channels=512),
            target=dict(_delete_=True, type='EMA', momentum=0.99, final_momentum=0.99),
            memory=dict(queue=dict(size=1024)),
        ),
    ),
    mixco_mocov2=Method('mixco/r18_tinyimagenet_mocov2', 'mocov2'),
    bsim_mocov2=Method('bsim/r50_in1k_mocov2', 'mocov2'),
    byol=Method('byol/r50_in1k', changes=HEADS),
    bsim_byol=Method('bsim/r50_in1k_byol', 'byol'),
    wbsim_byol=Method('wbsim/r50_in1k_byol', 'byol'),
    simsiam=Method(  # the bottleneck is a quarter as wide as the output, as at full size
        'simsiam/r50_in1k',
        changes=dict(
            neck=dict(in_channels=64, hidden_channels=512, out_channels=512),
            predictor=dict(in_channels=512, hidden_channels=128, out_channels=512),
        ),
    ),
    bsim_simsiam=Method('bsim/r50_in1k_simsiam', 'simsiam'),
    dino=Method(
        'dino/vit-s16_in1k',
        changes=dict(
            neck=dict(in_channels=64, hidden_channels=512, out_channels=1024),
            target=dict(momentum=0.99),
            objective=dict(num_prototypes=1024, warmup_epochs=2),
            views=dict(local=4),
            terms=_terms(local=4),
        ),
        pipeline='local_crops',
        hooks=(dict(type='FrozenPrototypesHook', epochs=1),),
    ),
    sdmp_dino=Method(  # two of the four local crops are mixed
        'sdmp/vit-s16_in1k_dino', 'dino', dict(views=dict(local=2, spare=2), terms=_terms(local=2, mixed=2))
    ),
)
"""The rows of the table in their order."""


def digits_config(method: str) -> Config:
    """The config of a row of the table: 20 epochs of AdamW on the digits, by a process with one core."""
    own = METHODS[method]
    host = METHODS[own.host] if own.host else own
    model = _read(host.config).model
    if own is not host:
        rows = {name: value for name, value in _read(own.config).model.items() if name in ROWS}
        model.update(rows)
    cfg = _read('patchmix/vit-xs4_digits')
    cfg.model = dict(model, backbone=VIT)
    for changes in (host.changes, own.changes):
        cfg.merge_from_dict(dict(model=copy.deepcopy(changes)))  # merging takes `_delete_` out
    pipeline = _pipeline(host.pipeline, cfg.views, cfg.enlarge)
    cfg.merge_from_dict(
        {
            'train_dataloader.dataset.dataset.pipeline': pipeline,
            'train_dataloader.num_workers': 0,
            'val_dataloader.num_workers': 0,
            'val_cfg.bank_dataloader.num_workers': 0,
            'param_scheduler': [
                dict(type='WarmupCosineLR', warmup=2, final=1e-6, by_epoch=True, convert_to_iter_based=True)
            ],
            'train_cfg': dict(max_epochs=20, val_interval=20),
            'default_hooks.checkpoint': dict(interval=20, max_keep_ckpts=1),
            'visualizer.vis_backends': [dict(type='LocalVisBackend')],
        }
    )
    if host.pipeline == 'sampled_patches':
        cfg.train_cfg.type = 'ChunkedPretrainLoop'
    if host.hooks:
        cfg.custom_hooks = [dict(type='BannerHook'), *host.hooks]
    cfg.config_name = f'digits_table/{method}'
    return cfg


def _pipeline(kind: str, views: list, enlarge: dict) -> list[dict[str, Any]]:
    crops = [view[0] for view in views]
    if kind == 'sampled_patches':  # a quarter of the patches of each view, sampled to overlap little
        recorded = [
            [{**crop, 'type': 'RecordedResizedCrop'}, *view[1:]] for crop, view in zip(crops, views, strict=True)
        ]
        step = dict(type='SampledPatchPair', patch_size=4, ratio=0.25, power=3.0, transforms=recorded)
        return [enlarge, step, dict(type='mmpretrain.PackInputs', algorithm_keys=['tokens', 'patch_grid'])]
    step = dict(type='KeyedMultiView', num_views=[1, 1], transforms=list(views))
    if kind == 'local_crops':  # of 8 pixels; larger parts of the image than on photographs, to show strokes
        local = [{**crops[0], 'scale': 8, 'crop_ratio_range': (0.2, 0.5)}, *views[0][1:]]
        step = dict(type='KeyedMultiView', num_views=[1, 1, 4], transforms=[*views, local])
    return [enlarge, step, dict(type='mmpretrain.PackInputs')]


def _read(name: str) -> Config:
    return Config.fromfile(CONFIGS / f'{name}.py')
