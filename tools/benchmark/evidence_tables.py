"""Runs of the evidence, and what is compared: tables as data, in the order in which they are run."""

import functools
import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from evidence_measures import BASELINES, FINE_TUNED_DRAWS, FINE_TUNING_BATCH, FINE_TUNING_STEPS, MAPPED
from evidence_methods import DATA, METHODS, evidence_config
from evidence_statistics import NAMED, accuracy
from mmengine.config import Config

from mixcl.evaluation.functional.few_labels import DRAWS, SHOTS

Found = Mapping[str, dict[str, Any]]
"""Results by :meth:`Run.key`."""
Chosen = tuple[tuple[str, float], ...]
"""Settings chosen for a method."""

DECIDING = (
    *('model', 'data_preprocessor', 'train_dataloader', 'val_dataloader', 'optim_wrapper', 'param_scheduler'),
    *('train_cfg', 'val_cfg', 'custom_hooks', 'randomness'),
)
"""Parts of a config that decide the results of a run."""

EPOCHS = dict(digits=200, fashionmnist5000=128, fashionmnist=100)
MOST_SEEDS = 5
CHOICES_ON = 'digits'
"""The data set that settings are chosen on, for all of them."""


class Run(NamedTuple):
    """One training, or one baseline; tables that ask for the same run share it."""

    method: str
    data: str
    epochs: int
    seed: int = 0
    settings: Chosen = ()
    held_out: bool = False

    @property
    def name(self) -> str:
        settings = [f'{name}{value:g}' for name, value in self.settings]
        parts = [self.method, *settings, self.data, f'{self.epochs}e', 'held_out' * self.held_out, f's{self.seed}']
        return '-'.join(filter(None, parts))

    def config(self) -> Config:
        cfg = evidence_config(self.method, self.data, self.epochs, dict(self.settings), self.held_out)
        cfg.randomness = dict(seed=self.seed)
        return cfg

    def training(self) -> 'Run':
        """Return the run with the same training and no fine-tuning."""
        return self._replace(settings=tuple(one for one in self.settings if one[0] != 'fine_tuning_rate'))

    @functools.cache  # noqa: B019 (as long as the program)
    def key(self) -> str:
        """Return the name and a digest of all that decides the results, so that those of other runs are not taken."""
        cfg = self.config().to_dict()
        measures = [SHOTS, DRAWS, FINE_TUNED_DRAWS, FINE_TUNING_STEPS, FINE_TUNING_BATCH, MAPPED, DATA[self.data].probe]
        decided = [self, measures, {name: cfg.get(name) for name in DECIDING}]
        text = json.dumps(decided, sort_keys=True, default=str)
        return f'{self.name}-{hashlib.sha256(text.encode()).hexdigest()[:16]}'


class Pair(NamedTuple):
    """A method and its host for comparison, which trains ``length`` times as many epochs."""

    method: str
    host: str
    length: float = 1
    papers: str = ''


@dataclass(frozen=True)
class Table:
    """Runs that belong together; ``network`` is the suffix of the baselines of the same network."""

    title: str
    pairs: tuple[Pair, ...]
    data: str = 'digits'
    seeds: int = 3
    network: str = ''
    on_gpu: bool = False

    @property
    def baselines(self) -> list[str]:
        return [*BASELINES, f'random{self.network}', f'scratch{self.network}']

    @property
    def rows(self) -> list[tuple[str, float]]:
        """Methods and their lengths."""
        both = [row for pair in self.pairs for row in ((pair.host, pair.length), (pair.method, 1))]
        return list(dict.fromkeys([*((name, 1) for name in self.baselines), *both]))

    def run(self, method: str, length: float, seed: int, found: Found) -> Run | None:
        """Return the run of a method; None until its settings are chosen."""
        settings, missing = choices(method, found)
        return None if missing else Run(method, self.data, round(length * EPOCHS[self.data]), seed, settings)

    def runs(self, found: Found) -> list[Run | None]:
        """List the runs of all rows, seed by seed; None where settings are not chosen yet."""
        return [
            self.run(method, length, seed, found)
            for seed in range(self.seeds)
            for method, length in self.rows
            if not (seed and method in BASELINES)  # these do not depend on the seed
        ]

    def results(self, method: str, length: float, found: Found) -> dict[int, dict[str, Any]]:
        """Return results so far by seed, also of other tables; one seed if the table has no verdicts."""
        runs = {seed: self.run(method, length, seed, found) for seed in range(MOST_SEEDS if self.seeds > 1 else 1)}
        return {seed: found[run.key()] for seed, run in runs.items() if run and run.key() in found}


def choices(method: str, found: Found) -> tuple[Chosen, list[Run]]:
    """Return a method's settings that are best on held-out images, and the runs still missing for the choice.

    Settings are chosen one after the other, from full-length runs with one seed: the ``fine_tuning_rate`` by 'tuned',
    others by the named measure.
    """
    method = METHODS[method].like or method
    best = Run(method, CHOICES_ON, EPOCHS[CHOICES_ON], held_out=True)
    for name, values in METHODS[method].chosen:
        runs = [best._replace(settings=(*best.settings, (name, value))) if value else best for value in values]
        if missing := [run for run in runs if run.key() not in found]:
            return best.settings, missing
        measure = 'tuned' if name == 'fine_tuning_rate' else NAMED
        best = max(runs, key=lambda run: accuracy(found[run.key()], measure))
    return best.settings, []


def wanted(tables: tuple[Table, ...], found: Found) -> Iterator[Run]:
    """Yield missing runs that can be done now, in order: first those that choose settings, then seed by seed."""
    for table in tables:
        for method, _ in table.rows:
            yield from choices(method, found)[1]
        yield from (run for run in table.runs(found) if run and run.key() not in found)


# A pass with gradient counts as three: PatchMix and SDMP make 9 per image and step, MoCo v3 8, the frame alone 4.
HOSTS = (
    *(Pair('patchmix', 'patchmix_oto', length, 'kNN +7.6 (PatchMix T7, CIFAR-10)') for length in (1, 9 / 4)),
    *(Pair('patchmix', 'mocov3', length, 'kNN +5.5 (PatchMix T3, CIFAR-10)') for length in (1, 9 / 8)),
    *(Pair('sdmp_mocov3', 'mocov3', length, 'linear +0.6 (SDMP T1, ImageNet-1K)') for length in (1, 9 / 8)),
    Pair('patchmix', 'sdmp_mocov3'),
)


def _against(host: str, papers: str, **gains: str) -> tuple[Pair, ...]:
    return tuple(Pair(method, host, 1, f'{gain} ({papers})') for method, gain in gains.items())


_T5, _T6, _T7 = (f'PatchMix T{number}, kNN, CIFAR-10' for number in (5, 6, 7))
_LATER = 'added when the runs were known'
_MIXERS = dict(patchmix='+6.4', patchmix_resizemix='+3.9', patchmix_regionswap='+3.1', patchmix_cutmix_mixup='+0.5')
_CONTROLS = ('mocov3_smooth10', 'mocov3_smooth30', 'mocov3_keep33')
TABLES = (
    Table('PatchMix and SDMP beside their hosts', HOSTS, seeds=5),
    Table('Mixers in the frame of PatchMix (Table 5)', _against('patchmix_m1', _T5, **_MIXERS)),
    Table(
        'How many images are mixed (Table 6)',
        (
            *_against('patchmix_m1', _T6, patchmix_m2='+6.1', patchmix='+6.4', patchmix_m4='+6.1'),
            *_against('patchmix_m2', f'{_T6}; {_LATER}', patchmix='+0.3'),
        ),
    ),
    Table(
        'Terms of the loss (Table 7)',
        (
            *_against('patchmix_oto', _T7, patchmix='+7.6', patchmix_oto_mto='+6.8'),
            *_against('patchmix_oto', 'PatchMix T7, kNN, CIFAR-100', patchmix_mto='-2.5', patchmix_mtm='-12.3'),
            *_against('patchmix_oto_mto', f'{_T7}; {_LATER}', patchmix='+0.8'),
            # With M = 1 nothing is mixed, which leaves MoCo v3's symmetric loss.
            *(Pair('patchmix_m1', 'patchmix_oto', length, _LATER) for length in (1, 9 / 4)),
            Pair('patchmix_m1', 'mocov3', 1, _LATER),
        ),
    ),
    Table(
        'Mixing, or softer targets and fewer patches',
        (
            *(Pair('patchmix', control) for control in _CONTROLS),
            *(Pair(control, 'mocov3') for control in _CONTROLS),
            *(Pair(f'patchmix_{weights}', 'patchmix') for weights in ('1_1_1', '1_1_3')),
        ),
    ),
    Table(
        'MixCo, BSIM and WBSIM beside their hosts, ResNet-18',
        (
            *_against('simclr', 'MixCo T1, linear, TinyImageNet', mixco_simclr='+1.1'),
            *_against('mocov2', 'MixCo T1, linear, TinyImageNet', mixco_mocov2='+6.9'),
            *_against('byol', 'BSIM T2, linear, ImageNet-1K', bsim_byol='+0.7', wbsim_byol='+0.7'),
            *_against('simclr', 'BSIM T2, linear, ImageNet-1K', bsim_simclr='+0.7'),
            Pair('wbsim_simclr', 'simclr'),
            # Equal numbers of passes; BSIM on BYOL makes as many as BYOL.
            Pair('mixco_simclr', 'simclr', 3 / 2),
            Pair('mixco_mocov2', 'mocov2', 11 / 8),
            Pair('wbsim_byol', 'byol', 7 / 4),
            *(Pair(method, 'simclr', 2) for method in ('bsim_simclr', 'wbsim_simclr')),
            *(Pair('mixco_mocov2_slow_keys', 'mocov2_slow_keys', length, _LATER) for length in (1, 11 / 8)),
        ),
        network='_resnet',
    ),
    Table(
        'APS beside MoCo v3, patches of 2',
        _against('mocov3_patch2', 'APS T2, fine-tuned, CIFAR-10; rates added after a run', aps_patch2='+1.1'),
        network='_patch2',
    ),
    Table('5,000 images of Fashion-MNIST', HOSTS, 'fashionmnist5000'),
    Table(
        'Learned positions beside fixed ones',
        tuple(Pair(f'{method}_learned', method) for method in ('patchmix', 'patchmix_oto', 'mocov3')),
    ),
    Table(
        'Masked images, clusters and tokens beside PatchMix',
        tuple(Pair(method, 'patchmix') for method in ('mocov3', 'mae', 'simmim', 'swav', 'dino', 'ibot')),
        seeds=1,
    ),
    Table('Terms between patches', tuple(Pair(f'{method}_patches', method) for method in ('patchmix', 'dino', 'ibot'))),
    Table('All of Fashion-MNIST', HOSTS[::2], 'fashionmnist', on_gpu=True),
)
