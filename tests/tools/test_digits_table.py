"""tools/benchmark/digits_table.py: what its configs share, its numbers, and that it repeats nothing."""

import argparse
import functools
import json
import sys
from pathlib import Path

import pytest
from configuration.all_configs import build
from mmengine.config import Config
from tools.command import ROOT

from mixcl.configuration import check_config
from mixcl.engine.runners.dry_run import try_views

sys.path.insert(0, str(ROOT / 'tools/benchmark'))  # as Python does for a script
import digits_table
from digits_configs import METHODS, ROWS, digits_config
from digits_table import Run, page

SHARED = ('optim_wrapper', 'param_scheduler', 'val_dataloader', 'val_cfg', 'data_preprocessor', 'randomness')


@functools.cache
def config_of(method: str) -> dict:
    return digits_config(method).to_dict()


def test_all_can_start_with_equal_budgets() -> None:
    plain = config_of('mocov3')
    for method in METHODS:
        own = config_of(method)
        check_config(Config(own))
        model = build(Config(own))
        if method in ('mocov3', 'dino', 'sdmp_dino', 'aps_mocov3'):  # the others have the views of one of these
            try_views(Config(own), model)
        for part in SHARED:
            assert own[part] == plain[part], (method, part)
        assert own['model']['backbone'] == plain['model']['backbone'], method
        assert own['train_dataloader']['batch_size'] == 128 and own['train_cfg']['max_epochs'] == 20
        assert own['optim_wrapper']['optimizer'] == dict(type='AdamW', lr=2e-3, betas=(0.9, 0.999), weight_decay=0.04)


def test_a_method_changes_its_host_in_the_table_of_terms_alone() -> None:
    for method, row in METHODS.items():
        if row.host:
            own, host = config_of(method), config_of(row.host)
            differing = {key for key in own['model'] | host['model'] if own['model'].get(key) != host['model'].get(key)}
            assert differing and differing <= {*ROWS, 'objective'}, method
            for part in ('train_dataloader', 'train_cfg', 'custom_hooks'):
                assert own[part] == host[part]


def results(knn: float, linear: float, **costs: object) -> dict:
    return dict(accuracies=dict(online=[knn, linear], pixels=[0.5, 0.25]), **costs)


def test_the_page_compares_runs_of_one_seed() -> None:
    costs = dict(passes=[2, 2], steps=220, seconds=10.0)
    found = dict(
        byol=[results(0.80, 0.90, **costs), results(0.90, 0.90, **costs)],
        wbsim_byol=[results(0.81, 0.80, **costs | dict(passes=[4, 2])), results(0.91, 0.94, **costs)],
        untrained=[results(0.3, 0.4), results(0.3, 0.4)],
    )
    args = argparse.Namespace(epochs=20, seeds=2, jobs=1, amp=False, methods=['byol', 'wbsim_byol'])
    lines = page(found, args).splitlines()
    assert '| raw pixels | 50.0 ± 0.0 | | 25.0 ± 0.0 | | | |' in lines
    assert '| untrained | 30.0 ± 0.0 | | 40.0 ± 0.0 | | | |' in lines
    assert '| **byol** | 85.0 ± 7.1 |  | 90.0 ± 0.0 |  | 2 + 2 | 220 |' in lines
    # Kept apart, the spreads of 7.1 would hide that every seed gains a point.
    assert '| wbsim_byol | 86.0 ± 7.1 | +1.0 ± 0.0 | 87.0 ± 9.9 | -3.0 ± 9.9 | 4 + 2 | 220 |' in lines


@pytest.mark.long
def test_what_is_done_is_not_repeated(
    tmp_path: Path, capsys: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = ('--out', tmp_path / 'table.md', '--work-dir', tmp_path / 'runs')
    words = ['digits_table.py', *out, '--methods', 'mocov2', '--seeds', 1, '--epochs', 1, '--jobs', 2]
    monkeypatch.setattr(sys, 'argv', list(map(str, words)))
    pages = []
    for missing in (2, 0):
        digits_table.main()
        assert f'{missing} of 2 runs to do' in capsys.readouterr().out
        pages.append((tmp_path / 'table.md').read_text())
    assert pages[0] == pages[1]
    found = json.loads((tmp_path / 'runs/1_epochs_float32/mocov2_seed0.json').read_text())
    knn, linear = found['accuracies']['online']
    assert f'\n| **mocov2** | {100 * knn:.1f} |  | {100 * linear:.1f} |  | 1 + 1 | 11 |' in pages[0]
    assert 0.2 < knn < 1 and 0.2 < linear < 1


def test_results_of_another_config_are_not_taken(tmp_path: Path) -> None:
    done, config = Run('simclr', 0, 20, False, tmp_path), digits_config('simclr').to_dict()
    assert done.results() is None
    for temperature in (config['model']['objective']['temperature'], 0.3):
        config['model']['objective']['temperature'] = temperature
        done.results_file.write_text(json.dumps(dict(config=config)))
        assert (done.results() is None) == (temperature == 0.3)
