"""tools/benchmark/digits_table.py: what its configs share, its numbers, and that it repeats nothing."""

import argparse
import json
import subprocess
from pathlib import Path

import pytest
from mmengine.config import Config
from tools.command import run

from mixcl.errors import UserError
from tools.benchmark import digits_table
from tools.benchmark.digits_table import CONFIGS, HOSTS, Run, execute_all, mean_and_spread, page

METHOD_PARTS = {'mixer', 'streams', 'terms', 'views', 'joint', 'shared_plan', 'swap_views', 'objective', 'target'}
SHARED = ('optim_wrapper', 'param_scheduler', 'val_dataloader', 'val_cfg', 'data_preprocessor', 'randomness')


def config_of(method: str) -> dict:
    return Config.fromfile(CONFIGS / f'{method}.py').to_dict()


def test_every_config_has_a_row() -> None:
    assert {path.stem for path in CONFIGS.glob('*.py')} == set(HOSTS)


@pytest.mark.parametrize('method', HOSTS)
def test_budgets_are_equal(method: str) -> None:
    own, plain = config_of(method), config_of('mocov3')
    for part in SHARED:
        assert own[part] == plain[part]
    assert own['model']['backbone'] == plain['model']['backbone']
    assert own['train_dataloader']['batch_size'] == 128
    assert own['train_cfg']['max_epochs'] == 20
    assert own['optim_wrapper']['optimizer'] == dict(type='AdamW', lr=2e-3, betas=(0.9, 0.999), weight_decay=0.04)


@pytest.mark.parametrize('method', [name for name, host in HOSTS.items() if host and not name.startswith('aps')])
def test_a_method_changes_its_host_in_the_table_of_terms_alone(method: str) -> None:
    own, host = config_of(method), config_of(HOSTS[method])
    differing = {name for name in own['model'] | host['model'] if own['model'].get(name) != host['model'].get(name)}
    assert differing and differing <= METHOD_PARTS
    for part in ('train_dataloader', 'train_cfg', 'custom_hooks'):
        assert own[part] == host[part]


@pytest.mark.parametrize(
    ('method', 'full_size'),
    [
        ('patchmix', 'patchmix/vit-s16_in1k'),
        ('sdmp_mocov3', 'sdmp/vit-s16_in1k_mocov3'),
        ('imix_mocov3', 'imix/vit-s16_in1k_mocov3'),
        ('unmix_mocov3', 'unmix/vit-s16_in1k_mocov3'),
        ('dacl_mocov3', 'dacl/vit-s16_in1k_mocov3'),
        ('bsim_simclr', 'bsim/r50_in1k_simclr'),
        ('bsim_mocov2', 'bsim/r50_in1k_mocov2'),
        ('bsim_byol', 'bsim/r50_in1k_byol'),
        ('wbsim_byol', 'wbsim/r50_in1k_byol'),
        ('bsim_simsiam', 'bsim/r50_in1k_simsiam'),
        ('mixco_simclr', 'mixco/r18_tinyimagenet_simclr'),
        ('mixco_mocov2', 'mixco/r18_tinyimagenet_mocov2'),
        ('aps_mocov3', 'aps/vit-s16_in1k'),
    ],
)
def test_tables_of_terms_are_those_of_the_full_size_configs(method: str, full_size: str) -> None:
    small, full = config_of(method)['model'], Config.fromfile(CONFIGS.parent / f'{full_size}.py').to_dict()['model']
    for part in ('terms', 'streams', 'joint', 'shared_plan', 'swap_views'):
        assert small.get(part) == full.get(part)
    ignored = dict(patch_size=None)  # of PatchMix: depends on the backbone
    assert {**(small.get('mixer') or {}), **ignored} == {**(full.get('mixer') or {}), **ignored}


def test_mean_and_sample_deviation_in_percent() -> None:
    assert mean_and_spread([0.90, 0.92, 0.97]) == '93.0 ± 3.6'  # sqrt((9 + 1 + 16) / 2)
    assert mean_and_spread([0.01, -0.02], '+') == '-0.5 ± 2.1'
    assert mean_and_spread([0.01], '+') == '+1.0'


def results(knn: float, linear: float, **costs: object) -> dict:
    return dict(accuracies=dict(online=[knn, linear], pixels=[0.5, 0.25]), **costs)


def test_the_page_compares_runs_of_one_seed() -> None:
    costs = dict(passes=[2, 2], steps=220, seconds=10.0)
    found = {
        'byol': [results(0.80, 0.90, **costs), results(0.90, 0.90, **costs)],
        'wbsim_byol': [results(0.81, 0.80, **costs | dict(passes=[4, 2], seconds=30.4)), results(0.91, 0.94, **costs)],
        'untrained': [results(0.3, 0.4), results(0.3, 0.4)],
    }
    args = argparse.Namespace(epochs=20, seeds=2, jobs=1, amp=False, methods=['byol', 'wbsim_byol'])
    lines = page(found, args).splitlines()
    assert '| raw pixels | 50.0 ± 0.0 | | 25.0 ± 0.0 | | | |' in lines
    assert '| untrained | 30.0 ± 0.0 | | 40.0 ± 0.0 | | | |' in lines
    assert '| **byol** | 85.0 ± 7.1 |  | 90.0 ± 0.0 |  | 2 + 2 | 220 |' in lines
    # Kept apart, the spreads of 7.1 would hide that every seed gains a point.
    assert '| wbsim_byol | 86.0 ± 7.1 | +1.0 ± 0.0 | 87.0 ± 9.9 | -3.0 ± 9.9 | 4 + 2 | 220 |' in lines


def run_once(folder: Path) -> subprocess.CompletedProcess:
    out = ('--out', folder / 'table.md', '--work-dir', folder / 'runs')
    small = ('--methods', 'mocov2', '--seeds', 1, '--epochs', 1, '--jobs', 2)
    finished = run('tools/benchmark/digits_table.py', *out, *small)
    assert finished.returncode == 0, finished.stdout + finished.stderr
    return finished


def test_what_is_done_is_not_repeated(tmp_path: Path) -> None:
    assert '2 of 2 runs to do' in run_once(tmp_path).stdout
    text = (tmp_path / 'table.md').read_text()
    (row,) = (line for line in text.splitlines() if line.startswith('| **mocov2** |'))
    file = tmp_path / 'runs/1_epochs_float32/mocov2_seed0.json'
    found = json.loads(file.read_text())
    knn, linear = found['accuracies']['online']
    assert row.startswith(f'| **mocov2** | {100 * knn:.1f} |  | {100 * linear:.1f} |  | 1 + 1 | 11 |')
    assert 0.2 < knn < 1 and 0.2 < linear < 1

    written = file.stat().st_mtime_ns
    (tmp_path / 'table.md').unlink()
    assert '0 of 2 runs to do' in run_once(tmp_path).stdout
    assert (tmp_path / 'table.md').read_text() == text
    assert file.stat().st_mtime_ns == written


def test_results_of_another_config_are_not_taken(tmp_path: Path) -> None:
    done = Run('simclr', 0, 20, False, tmp_path)
    assert done.results() is None
    config = config_of('simclr')
    done.results_file.write_text(json.dumps(dict(config=config)))
    assert done.results() is not None
    config['model']['objective']['temperature'] = 0.3
    done.results_file.write_text(json.dumps(dict(config=config)))
    assert done.results() is None


def test_after_a_failure_no_run_starts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / 'worker.py'
    worker.write_text("raise SystemExit('no space left')")
    monkeypatch.setattr(digits_table, 'WORKER', worker)
    runs = [Run('byol', seed, 1, False, tmp_path) for seed in range(20)]
    with pytest.raises(UserError, match=r'the run of byol with seed 0 failed; its last lines are in .*byol_seed0\.log'):
        execute_all(runs, jobs=1)
    assert (tmp_path / 'byol_seed0.log').read_text() == 'no space left\n'
    assert len(list(tmp_path.glob('*.log'))) < 20


@pytest.mark.parametrize('name', ['seeds', 'jobs', 'epochs'])
def test_nothing_to_do_is_refused(name: str) -> None:
    refused = run('tools/benchmark/digits_table.py', f'--{name}', 0)
    assert refused.returncode == 2
    assert f'error: --{name} must be at least 1, not 0' in refused.stderr
