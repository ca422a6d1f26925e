"""Which runs the evidence consists of, and which of them are compared: tables as data, the most telling ones first."""

import functools
import hashlib
import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from evidence_configs import IMAGES, METHODS, evidence_config
from mmengine.config import Config

SEEDS = (0, 1, 2)
DECIDING = (
    *(
        'model',
        'data_preprocessor',
        'train_dataloader',
        'val_dataloader',
        'optim_wrapper',
        'param_scheduler',
        'train_cfg',
    ),
    *('val_cfg', 'val_evaluator', 'custom_hooks', 'randomness'),
)
"""The parts of a config that decide what a run finds."""


class Papers(NamedTuple):
    """The difference between a method and its host that a paper prints, in points."""

    difference: float
    measure: str
    """What it is of: 'knn', 'linear', or 'other' for a protocol that is not ours."""
    source: str


class Pair(NamedTuple):
    """A method that is compared with its host, run by run of one seed."""

    method: str
    host: str
    papers: Papers | None = None


@dataclass(frozen=True)
class Run:
    """One training; runs with one name are the same run, whatever table asks for them."""

    method: str
    data: str
    epochs: int
    seed: int
    variant: str = ''
    overrides: Mapping[str, Any] = field(default_factory=dict, compare=False)
    held_out: bool = False

    @property
    def row(self) -> str:
        """The name without the seed."""
        parts = (self.method, self.variant, self.data, f'{self.epochs}e', 'validation' if self.held_out else '')
        return '-'.join(filter(None, parts))

    @property
    def name(self) -> str:
        return f'{self.row}-s{self.seed}'

    def config(self) -> Config:
        cfg = evidence_config(self.method, self.data, self.epochs, self.overrides, self.held_out)
        cfg.randomness = dict(seed=self.seed)
        return cfg

    @functools.cache  # noqa: B019 (as long as the program)
    def fingerprint(self) -> str:
        """Of all that the config says of what is computed: results of another one are not taken."""
        cfg = self.config().to_dict()
        text = json.dumps({name: cfg.get(name) for name in DECIDING}, sort_keys=True, default=str)
        return hashlib.sha256(text.encode()).hexdigest()[:16]

    @property
    def backbone(self) -> str:
        return METHODS[self.method].backbone

    @property
    def cost(self) -> float:
        """In images that pass the encoder forwards: a pass with gradient counts as three."""
        forwards, without = METHODS[self.method].passes
        return IMAGES[self.data]['train'] * self.epochs * (3 * forwards + without)


@dataclass(frozen=True)
class Table:
    """Runs that belong together.

    Attributes:
        title: of the page.
        data: of :data:`~evidence_configs.IMAGES`.
        epochs: of training.
        pairs: what is compared.
        factors: other numbers of epochs, by method, as multiples.
        variants: overrides by name; every method is run with each.
        chosen: of :data:`VARIANTS`, by method: the one that was best for it on held-out images.
        seeds: of the runs.
        held_out: whether it is for choices, on held-out training images.
    """

    title: str
    data: str
    epochs: int
    pairs: tuple[Pair, ...]
    factors: Mapping[str, float] = field(default_factory=dict)
    variants: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: {'': {}})
    chosen: Mapping[str, str] = field(default_factory=dict)
    seeds: tuple[int, ...] = SEEDS
    held_out: bool = False

    @property
    def methods(self) -> list[str]:
        return list(dict.fromkeys(name for pair in self.pairs for name in (pair.host, pair.method)))

    def run(self, method: str, variant: str, seed: int) -> Run:
        epochs = round(self.epochs * self.factors.get(method, 1))
        variant = self.chosen.get(method, variant)
        return Run(method, self.data, epochs, seed, variant, {**VARIANTS, **self.variants}[variant], self.held_out)

    def runs(self) -> list[Run]:
        """Seed by seed, so that an unfinished table has something of every method."""
        return [
            self.run(method, variant, seed)
            for seed in self.seeds
            for variant in self.variants
            for method in self.methods
        ]


TABLE3 = (
    Pair('patchmix', 'patchmix_oto', Papers(7.6, 'knn', 'PatchMix T7, ViT-S/2, CIFAR-10')),
    Pair('patchmix', 'mocov3', Papers(4.8, 'knn', 'PatchMix T3, ViT-T/2, CIFAR-10')),
)
_T5, _T6, _T7 = (f'PatchMix T{number}, ViT-S/2, CIFAR-10' for number in (5, 6, 7))
TABLE5 = (
    Pair('patchmix', 'patchmix_m1', Papers(6.4, 'knn', _T5)),
    Pair('patchmix_resizemix', 'patchmix_m1', Papers(3.9, 'knn', _T5)),
    Pair('patchmix_regionswap', 'patchmix_m1', Papers(3.1, 'knn', _T5)),
    Pair('patchmix_cutmix_mixup', 'patchmix_m1', Papers(0.5, 'knn', _T5)),
)
TABLE6 = (
    Pair('patchmix_m2', 'patchmix_m1', Papers(6.1, 'knn', _T6)),
    Pair('patchmix', 'patchmix_m1', Papers(6.4, 'knn', _T6)),
    Pair('patchmix_m4', 'patchmix_m1', Papers(6.1, 'knn', _T6)),
    Pair('patchmix_m5', 'patchmix_m1'),
)
TABLE7 = (
    Pair('patchmix', 'patchmix_oto', Papers(7.6, 'knn', _T7)),
    Pair('patchmix_oto_mto', 'patchmix_oto', Papers(6.8, 'knn', _T7)),
    Pair('patchmix_mto', 'patchmix_oto', Papers(-2.5, 'knn', 'PatchMix T7, ViT-S/2, CIFAR-100')),
    Pair('patchmix_mtm', 'patchmix_oto', Papers(-12.3, 'knn', 'PatchMix T7, ViT-S/2, CIFAR-100')),
)
_SDMP1 = 'SDMP T1, ViT-S/16, ImageNet-1K'
SDMP = (
    Pair('sdmp_mocov3', 'mocov3', Papers(0.6, 'linear', _SDMP1)),
    Pair('sdmp_dino', 'dino', Papers(0.4, 'linear', _SDMP1)),
)
APS = (Pair('aps_mocov3', 'mocov3', Papers(1.1, 'other', 'APS T2, fine-tuned, ViT-T/2, CIFAR-10')),)
ON_MOCOV3 = (
    Pair('imix_mocov3', 'mocov3', Papers(-1.6, 'linear', _SDMP1)),
    Pair('unmix_mocov3', 'mocov3'),
    Pair('dacl_mocov3', 'mocov3', Papers(-0.9, 'linear', _SDMP1)),
    Pair('mochi_mocov3', 'mocov3', Papers(-0.2, 'linear', _SDMP1)),
)
_MIXCO1, _BSIM2 = 'MixCo T1, ResNet-18, TinyImageNet', 'BSIM T2, ResNet-50, ImageNet-1K'
RESNETS = (
    Pair('mixco_mocov2', 'mocov2', Papers(6.9, 'linear', _MIXCO1)),
    Pair('bsim_mocov2', 'mocov2', Papers(0.5, 'linear', _BSIM2)),
    Pair('wbsim_mocov2', 'mocov2', Papers(0.9, 'linear', _BSIM2)),
    Pair('mixco_simclr', 'simclr', Papers(1.1, 'linear', _MIXCO1)),
    Pair('bsim_simclr', 'simclr', Papers(0.7, 'linear', _BSIM2)),
    Pair('wbsim_simclr', 'simclr'),
    Pair('bsim_byol', 'byol', Papers(0.7, 'linear', _BSIM2)),
    Pair('wbsim_byol', 'byol', Papers(0.7, 'linear', f'{_BSIM2}, 300 epochs')),
    Pair('bsim_simsiam', 'simsiam', Papers(0.4, 'linear', _BSIM2)),
    Pair('wbsim_simsiam', 'simsiam', Papers(0.8, 'linear', _BSIM2)),
)
CROPS = [f'train_dataloader.dataset.dataset.pipeline.1.transforms.{view}.0.crop_ratio_range' for view in (0, 1)]
WARMUP16: dict[str, Any] = {'param_scheduler.0.warmup': 16}
VARIANTS: dict[str, dict[str, Any]] = {
    '': {},
    **{f'lr{value:g}': {'optim_wrapper.optimizer.lr': value} for value in (5e-4, 1e-3, 4e-3)},
    **{f'ema{value:g}': {'model.target.momentum': value} for value in (0.9, 0.99, 0.996)},
    **{f'tau{value:g}': {'model.objective.temperature': value} for value in (0.1, 0.4)},
    'lr0.001tau0.4': {'optim_wrapper.optimizer.lr': 1e-3, 'model.objective.temperature': 0.4},
    'learned': {'model.backbone.fixed_position': False},
    'patch2': {'model.backbone.patch_size': 2, 'model.mixer.patch_size': 2},
    **{f'batch{value}': {'train_dataloader.batch_size': value} for value in (32, 128)},
    **{f'crop{least:g}': dict.fromkeys(CROPS, (least, 1.0)) for least in (0.2, 0.8)},
    'warmup16': WARMUP16,
    'final0.001': {'param_scheduler.0.final': 1e-3},  # half of the rate, in place of 1e-6
    'warmup16final0.001': WARMUP16 | {'param_scheduler.0.final': 1e-3},
    'warmup16crop0.8': WARMUP16 | dict.fromkeys(CROPS, (0.8, 1.0)),
    'warmup16tau0.4': WARMUP16 | {'model.objective.temperature': 0.4},
}
"""One setting at a time (and two together), for the hosts as for PatchMix."""

RATES = {'': {}, **{f'lr{value:g}': {'optim_wrapper.optimizer.lr': value} for value in (0.03, 0.06, 0.12)}}
ON_RESNETS = tuple(
    pair for pair in RESNETS if pair.method in ('mixco_simclr', 'mixco_mocov2', 'bsim_byol', 'bsim_simsiam')
)

CHOSEN = dict(patchmix='crop0.8', mocov3='tau0.4', patchmix_oto='lr0.001')
"""Of the held-out runs of 48 epochs that with the highest mean of the accuracies with 1, 5 and 20 labels; those with
another warm-up or end of the rate apart, since long runs have a long warm-up, and those with patches of 2, which take
three times as long and have a table of their own."""

FEW_MIXED = tuple(Pair(f'patchmix_m{number}', 'patchmix') for number in (2, 4))
EQUAL_COST = {'mocov3': 9 / 8, 'patchmix_oto': 9 / 4}
"""A pass with gradient counts as three: PatchMix has 2 + 3 passes, MoCo v3 2 + 2, the frame alone 1 + 1."""


def _tables(data: str, epochs: int) -> dict[str, Table]:
    def table(title: str, pairs: tuple[Pair, ...], length: float = 1, **other: Any) -> Table:
        return Table(f'{title}, {data}', data, round(length * epochs), pairs, **other)

    return dict(
        main=table('Table 3 of PatchMix', TABLE3),
        cost=table('The same with equal passes', TABLE3, factors=EQUAL_COST),
        mixers=table('Mixers in the frame of PatchMix (Table 5)', TABLE5),
        numbers=table('How many images are mixed (Table 6)', TABLE6),
        terms=table('Terms of the loss (Table 7)', TABLE7),
        sdmp=table('SDMP and its hosts', SDMP),
        # Four steps of a batch, each on a quarter of the patches; on digits an epoch took 5.9 s, one of MoCo v3 3.1.
        aps_steps=table('APS and MoCo v3, equal steps', APS, factors={'aps_mocov3': 0.25}),
        aps_time=table('APS and MoCo v3, about equal time', APS, factors={'aps_mocov3': 0.5}),
        others=table('Other mixtures on MoCo v3', ON_MOCOV3),
        resnets=table('MixCo, BSIM and WBSIM with ResNet-18', RESNETS, 0.5),
    )


DIGITS, PART, FASHION = _tables('digits', 200), _tables('fashionmnist5000', 32), _tables('fashionmnist', 100)
POSITIONS = {name: VARIANTS[name] for name in ('', 'learned')}
WARMER, SMALLER = ({name: VARIANTS[name]} for name in ('tau0.4', 'patch2'))
DIAGNOSIS = (
    Table('Fixed and learned positions, held-out digits', 'digits', 48, TABLE3, variants=POSITIONS, held_out=True),
    Table('One setting at a time, held-out digits', 'digits', 48, TABLE3, variants=VARIANTS, seeds=(0,), held_out=True),
    Table('How many are mixed, held-out digits', 'digits', 48, FEW_MIXED, seeds=(0,), held_out=True),
    Table(
        'Learning rate of ResNets, held-out digits', 'digits', 48, ON_RESNETS, variants=RATES, seeds=(0,), held_out=True
    ),
)
TABLES = (
    DIAGNOSIS[0],
    DIGITS.pop('main'),
    PART.pop('main'),
    *DIAGNOSIS[1:3],
    Table('Table 3 of PatchMix, each with its best setting, digits', 'digits', 200, TABLE3, chosen=CHOSEN, seeds=(0,)),
    Table('Table 3 of PatchMix with temperature .4, digits', 'digits', 200, TABLE3, variants=WARMER),
    DIGITS.pop('cost'),
    Table('Table 3 of PatchMix with patches of 2, digits', 'digits', 200, TABLE3, variants=SMALLER),
    *DIAGNOSIS[3:],
    DIGITS.pop('resnets'),
    *DIGITS.values(),
    *PART.values(),
    *FASHION.values(),
)
"""All of it, in order of worth."""


def all_runs() -> list[Run]:
    """Every run once, in order."""
    return list({run.name: run for table in TABLES for run in table.runs()}.values())


def selected(texts: Collection[str]) -> list[Run]:
    """The runs that the texts name, in order: each text is a row or run, or, where none is called so, a part of names.

    All runs where there are no texts.
    """
    runs = all_runs()
    names = {name for run in runs for name in (run.row, run.name)}
    return [
        run
        for run in runs
        if not texts or any(text in ((run.row, run.name) if text in names else run.name) for text in texts)
    ]


def find_run(name: str) -> Run | None:
    return next((run for run in all_runs() if run.name == name), None)
