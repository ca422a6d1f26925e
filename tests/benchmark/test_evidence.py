"""tools/benchmark/evidence.py: what its configs share, its rule and its choices."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from configuration.all_configs import build
from mmengine.config import Config
from tools.command import ROOT

from mixcl.engine.runners.dry_run import try_views
from mixcl.recipes.checking import check_config
from mixcl.recipes.subject import default_encoder

sys.path.append(str(ROOT / 'tools/benchmark'))  # as Python does for a script
from evidence_methods import METHODS, ROWS, evidence_config
from evidence_statistics import NAMED

sys.path.pop()  # for these imports alone

TRAINED = [name for name, method in METHODS.items() if not method.baseline]
SHARED = ('param_scheduler', 'val_dataloader', 'val_cfg', 'data_preprocessor')


def config_of(
    method: str, data: str = 'digits', epochs: int = 200, held_out: bool = False, **settings: float
) -> Config:
    return evidence_config(method, data, epochs, settings, held_out)


@pytest.mark.parametrize('method', TRAINED)
def test_a_method_differs_from_its_host_in_its_rows_alone(method: str) -> None:
    cfg = config_of(method)
    assert {name for name, _ in METHODS[method].chosen} <= {'temperature', 'rate', 'fine_tuning_rate'}
    check_config(cfg)
    model = build(cfg)
    if method in ('mocov3', 'aps_patch2', 'patchmix_regionswap'):  # others share views with these
        try_views(cfg, model)
    host = METHODS[method].host
    encoder = 'online' if METHODS[method].backbone == 'resnet' else 'target'
    assert default_encoder(cfg.config_name, cfg.model.backbone) == encoder
    if host:
        own, other = cfg.to_dict(), config_of(host).to_dict()
        differing = {key for key in own['model'] | other['model'] if own['model'].get(key) != other['model'].get(key)}
        assert differing and differing <= {*ROWS}
        for part in (*SHARED, 'train_dataloader', 'optim_wrapper'):
            assert own[part] == other[part], part


@pytest.mark.parametrize(('data', 'train', 'held_out'), [('digits', 1150, 287), ('fashionmnist5000', 4000, 1000)])
def test_held_out_images_are_neither_trained_nor_tested_on(data: str, train: int, held_out: int) -> None:
    cfg = config_of('mocov3', data, held_out=True)
    learnt, bank, queries = (
        part.dataset for part in (cfg.train_dataloader.dataset, cfg.val_cfg.bank_dataloader, cfg.val_dataloader)
    )
    assert learnt.split == bank.split == queries.split == 'train' and learnt.indices == bank.indices == train
    assert queries.indices == [*range(train, train + held_out)]
    final = config_of('mocov3', data)
    assert final.train_dataloader.dataset.dataset.indices == train + held_out
    assert final.val_dataloader.dataset.split == 'test' and final.val_dataloader.dataset.get('indices') is None


SMALL = """
import runpy, sys
sys.path.insert(0, 'tools/benchmark')
import evidence_measures, evidence_tables, evidence_methods
from dataclasses import replace
from evidence_tables import Pair, Table
evidence_measures.FINE_TUNING_STEPS = 2
evidence_tables.EPOCHS['digits'] = 2
evidence_tables.TABLES = (Table('Tiny', (Pair('aps_patch2', 'mocov3'),), seeds=1),)
for name in ('aps_patch2', 'mocov3', 'scratch', 'pca', 'isomap'):
    method = evidence_methods.METHODS[name]
    evidence_methods.METHODS[name] = replace(
        method, chosen=tuple((setting, values[-1:]) for setting, values in method.chosen)
    )
runpy.run_path('tools/benchmark/evidence.py', run_name='__main__')
"""


@pytest.mark.long
def test_a_small_table_from_its_choices_to_its_page(tmp_path: Path) -> None:
    def command(minutes: float) -> int:
        words = [sys.executable, '-c', SMALL, '--minutes', minutes, '--out', tmp_path]
        return subprocess.run([*map(str, words)], cwd=ROOT, check=False, timeout=800).returncode

    assert command(2.05) == 85, 'the time of a run is that of a step or two'
    assert command(60) == 0
    results = [json.loads(file.read_text()) for file in (tmp_path / 'results').glob('*.json')]
    trained = {one['name']: one for one in results if one.get('steps')}
    assert {one['steps'] for one in trained.values()} == {34, 44, 136, 176}
    assert all(30 < one['accuracies'][one['encoder']][NAMED] < 100 for one in trained.values()), trained
    (alike, tuned) = (
        trained[f'aps_patch2-rate0.004-temperature1-{name}digits-2e-held_out-s0']['accuracies']['online']
        for name in ('', 'fine_tuning_rate0.003-')
    )
    assert tuned == alike | dict(tuned=tuned['tuned']), 'one training, and its fine-tuning'
    text = (tmp_path / 'evidence.md').read_text()
    assert '## Tiny' in text and '| aps_patch2 | mocov3 | 1 |' in text.replace(' x epochs', '')
    assert command(60) == 0, 'nothing is left'
