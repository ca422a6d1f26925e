"""tools/benchmark/evidence.py: what its configs share, its plan, its pairs and page, and that runs go on."""

import argparse
import dataclasses
import json
import subprocess
import sys
import time
from pathlib import Path

import pytest
from configuration.all_configs import build
from mmengine.config import Config
from tools.command import ROOT

from mixcl.configuration import check_config
from mixcl.engine.runners.dry_run import try_views
from mixcl.registry import DATASETS

sys.path.append(str(ROOT / 'tools/benchmark'))  # as Python does for a script
import evidence
import evidence_rows
from evidence_configs import METHODS, ROWS, evidence_config
from evidence_figure import draw
from evidence_page import page, rows_of, verdict
from evidence_rows import DIAGNOSIS, Pair, Papers, Run, Table, all_runs

sys.path.pop()  # an evaluation.py lies there, which would hide the tests' own folder of that name

SHARED = ('param_scheduler', 'val_dataloader', 'val_cfg', 'val_evaluator', 'data_preprocessor')


def config_of(method: str, data: str = 'digits', held_out: bool = False, **overrides: object) -> Config:
    return evidence_config(method, data, 20, overrides, held_out)


@pytest.mark.parametrize('method', METHODS)
def test_all_can_start_with_equal_budgets(method: str) -> None:
    cfg, plain = config_of(method), config_of('mocov3')
    check_config(cfg)
    model = build(cfg)
    assert tuple(model.passes_per_image()) == METHODS[method].passes
    if method in ('mocov3', 'dino', 'sdmp_dino', 'aps_mocov3', 'patchmix_regionswap'):  # others have views of these
        try_views(cfg, model)
        larger = config_of(method, 'fashionmnist')
        check_config(larger)
        pipeline = larger.train_dataloader.dataset.dataset.pipeline
        larger.train_dataloader.dataset.dataset = dict(
            type='SyntheticImages', num_images=512, image_size=28, pipeline=pipeline
        )
        try_views(larger, build(larger))
    for part in SHARED:
        assert cfg[part] == plain[part], part
    assert cfg.train_dataloader.batch_size == 64 and cfg.train_cfg.max_epochs == 20
    host = METHODS[method].host
    if host:
        own, other = cfg.to_dict(), config_of(host).to_dict()
        differing = {key for key in own['model'] | other['model'] if own['model'].get(key) != other['model'].get(key)}
        assert differing and differing <= {*ROWS, 'objective'}
        assert own['train_dataloader'] == other['train_dataloader'] and own['optim_wrapper'] == other['optim_wrapper']


def test_held_out_images_are_neither_trained_nor_tested_on() -> None:
    def images(part: dict) -> list[bytes]:
        dataset = DATASETS.build({**part, 'pipeline': []})
        return [dataset[row]['img'].tobytes() for row in range(len(dataset))]

    test = images(config_of('mocov3').val_dataloader.dataset)
    cfg = config_of('mocov3', held_out=True)
    train = images(cfg.train_dataloader.dataset.dataset)
    assert images(cfg.val_cfg.bank_dataloader.dataset) == train
    queries = images(cfg.val_dataloader.dataset)
    assert (len(train), len(queries), len(test)) == (1150, 287, 360)
    everything = images(config_of('mocov3').train_dataloader.dataset.dataset)
    assert train + queries == everything


def test_settings_reach_the_methods_that_have_them() -> None:
    patches = {'model.backbone.patch_size': 2, 'model.mixer.patch_size': 2}
    assert config_of('patchmix', **patches).model.mixer.patch_size == 2
    assert config_of('mocov3', **patches).model.backbone.patch_size == 2
    table = DIAGNOSIS[1]
    for variant in filter(None, table.variants):
        for method in table.methods:
            config = table.run(method, variant, 0).config()
            check_config(config)
            assert config.to_dict() != table.run(method, '', 0).config().to_dict(), (method, variant)


def test_the_plan_has_every_run_once_with_the_most_telling_first() -> None:
    runs = all_runs()
    names = [run.name for run in runs]
    assert len(names) == len(set(names))
    assert names[:4] == [f'{method}-digits-48e-validation-s0' for method in ('patchmix_oto', 'patchmix', 'mocov3')] + [
        'patchmix_oto-learned-digits-48e-validation-s0'
    ]
    assert {run.seed for run in runs} == {0, 1, 2}
    assert not [run.name for run in runs if run.held_out and run.data != 'digits']
    assert evidence_rows.find_run(names[-1]) == runs[-1] and evidence_rows.find_run('nothing') is None
    for run in runs:
        same = [other for other in runs if other.row == run.row]
        assert {(one.method, one.epochs, str(one.overrides)) for one in same} == {
            (run.method, run.epochs, str(run.overrides))
        }


def test_rows_and_runs_are_selected_by_their_name_or_a_part_of_it() -> None:
    def names(*texts: str) -> list[str]:
        return [run.name for run in evidence_rows.selected(texts)]

    assert names('mocov3-digits-200e') == [f'mocov3-digits-200e-s{seed}' for seed in (0, 1, 2)]  # no sdmp_mocov3
    assert names('mocov3-digits-200e-s1') == ['mocov3-digits-200e-s1']
    assert 'sdmp_mocov3-digits-200e-s1' in names('v3-digits-200e-s1') and names() == [run.name for run in all_runs()]
    assert names('nothing') == []


TABLE = Table('Mixing', 'digits', 4, (Pair('patchmix', 'mocov3', Papers(4.8, 'knn', 'T3')),), seeds=(0, 1))


def result(run: Run, knn: float, labels: list[float]) -> dict:
    values = dict(
        knn=knn, linear=90.0, few1_logistic=sum(labels) / len(labels), few5_logistic=80.0, few20_logistic=85.0
    )
    ends = {f'target_{name}': value for name, value in values.items()}
    begins = dict(ends, target_knn=10.0, target_few1_logistic=11.0)
    return dict(
        name=run.name, passes=[2, 3], steps=44, seconds=1800.0, epochs=4, device='cpu',
        curve={'2': begins, '4': ends}, draws=dict(target_few1_logistic=labels), fingerprint=run.fingerprint(),
    )  # fmt: skip


def results() -> dict[str, dict]:
    numbers = dict(
        patchmix=[(91.0, [72.0, 74.0]), (81.5, [52.0, 56.0])], mocov3=[(90.0, [70.0, 70.0]), (80.0, [50.0, 52.0])]
    )
    runs = {(method, seed): TABLE.run(method, '', seed) for method in numbers for seed in (0, 1)}
    return {run.name: result(run, *numbers[method][seed]) for (method, seed), run in runs.items()}


def test_gains_are_paired_by_seed_and_by_draw() -> None:
    (row,) = rows_of([TABLE], results())
    assert row['seeds'] == 2 and row['knn_by_seed'] == [1.0, 1.5]
    # Kept apart, the spreads of 7 points between the seeds would hide it.
    assert row['kNN'] == '+1.2 ± 0.4' and row['order'] == 'agrees'
    assert row['few1_logistic_by_seed'] == [3.0, 3.0]
    assert row['draws, 1 label'] == '+3.0 ± 1.4'  # 2 and 4
    only = {name: found for name, found in results().items() if name != TABLE.run('mocov3', '', 0).name}
    (row,) = rows_of([TABLE], only)
    assert row['seeds'] == 1 and row['kNN'] == '+1.5' and row['order'] == 'one seed'


def test_the_page() -> None:
    lines = page(
        [TABLE], results(), [('patchmix-digits-4e', '2 of 2 done', 0.0), ('dino', '0 of 3 done', 2.5)]
    ).splitlines()
    assert '## Mixing' in lines
    row = '| patchmix-digits-4e | target | 2 | 86.2 ± 6.7 | 90.0 ± 0.0 | 63.5 ± 13.4 | 80.0 ± 0.0 | 85.0 ± 0.0 '
    assert f'{row}| 2 + 3 | 44 | 0.50 |' in lines
    assert '![By epoch](mixing.png)' in lines
    assert any('1 agrees, 0 differs' in line for line in lines)
    assert lines[-1] == '| dino | 0 of 3 done | 2.5 |'
    assert 'Mixing' not in page([TABLE], {}, [])
    settings = dataclasses.replace(TABLE, variants={'': {}, 'lr': {}})
    assert '- mocov3-digits-4e, target: 2: 10.0 / 11.0, 4: 85.0 / 60.5' in page([settings], results(), []).splitlines()


def test_each_method_has_the_setting_that_was_chosen_for_it() -> None:
    table = dataclasses.replace(TABLE, chosen=dict(mocov3='tau0.4'))
    assert [run.name for run in table.runs()][:2] == ['mocov3-tau0.4-digits-4e-s0', 'patchmix-digits-4e-s0']
    objectives = [run.config().model.objective.temperature for run in table.runs()]
    assert objectives == [0.4, 0.2, 0.4, 0.2]


def test_what_two_tables_compare_counts_once() -> None:
    again = dataclasses.replace(TABLE, title='Again')
    assert '1 agrees, 0 differs' in page([TABLE, again], results(), [])


def test_the_figure() -> None:
    knn, _, label, _ = draw(TABLE, results()).axes
    assert [line.get_label() for line in knn.containers] == ['MoCo v3', 'PatchMix']
    mean, _, (spread,) = label.containers[0].lines
    assert mean.get_xydata().tolist() == [[2, 11.0], [4, 60.5]]
    ends = spread.get_segments()[1][:, 1]
    assert abs(ends[1] - ends[0]) / 2 == pytest.approx(13.435, abs=1e-3)  # of 70 and 51


def test_a_figure_is_of_one_encoder_that_all_methods_have() -> None:
    found = results()
    for name in (name for name in found if name.startswith('mocov3')):
        for values in found[name]['curve'].values():
            for measure in [one for one in values if one.startswith('target_')]:
                values[measure.replace('target_', 'online_')] = values.pop(measure)
    for name in (name for name in found if name.startswith('patchmix')):
        for values in found[name]['curve'].values():
            values.update({one.replace('target_', 'online_'): 50.0 for one in values})
    knn = draw(TABLE, found).axes[0]
    assert 'online' in knn.get_ylabel()
    assert set(knn.containers[1].lines[0].get_ydata()) == {50.0}


@pytest.mark.parametrize(
    ('gains', 'papers', 'expected'),
    [
        ([1.0, 2.0, 3.0], 4.8, 'agrees'),
        ([-1.0, -2.0], 4.8, '**differs**'),
        ([-1.0, -2.0], -0.2, 'agrees'),
        ([1.0, -2.0], 4.8, 'too close to tell'),
        ([1.0], 4.8, 'one seed'),
    ],
)
def test_verdicts(gains: list[float], papers: float, expected: str) -> None:
    assert verdict(gains, Papers(papers, 'knn', '')) == expected
    assert verdict(gains, Papers(papers, 'other', '')) == 'no number of this measure' == verdict(gains, None)


def arguments(folder: Path, **other: object) -> argparse.Namespace:
    settings: dict = dict(
        minutes=10, jobs=1, device='cpu', only=[], list=False, state=folder / 'state', out=folder / 'out'
    )
    return argparse.Namespace(**settings | other)


def test_results_are_taken_of_the_same_config_alone_and_listed(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    run = all_runs()[0]
    state = evidence.State(tmp_path / 'state')
    assert state.found(run) is None
    found = dataclasses.asdict(run) | dict(fingerprint=run.fingerprint(), seconds=3.6 * run.cost)
    file = state.results / f'{run.name}.json'
    file.write_text(json.dumps(found))
    assert state.found(run) == json.loads(file.read_text())
    evidence.main(arguments(tmp_path, list=True))
    first, second, *_ = capsys.readouterr().out.splitlines()
    assert first.split() == [run.row, '1', 'of', '3', 'done', f'{2 * run.cost / 1000:.1f}', 'h']
    assert '0 of 3 done' in second
    file.write_text(json.dumps(found | dict(fingerprint='of another')))
    assert state.found(run) is None


def planned(monkeypatch: pytest.MonkeyPatch, worker: Path, program: str, seeds: tuple[int, ...] = (0, 1)) -> Table:
    table = Table('Tiny', 'digits', 2, (Pair('patchmix_oto', 'mocov3'),), seeds=seeds)
    for module in (evidence_rows, evidence):
        monkeypatch.setattr(module, 'TABLES', (table,))
    worker.write_text(program)
    monkeypatch.setattr(evidence, 'WORKER', worker)
    return table


def test_a_failure_keeps_no_other_run_and_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    program = "import sys\nprint('no space left')\nsys.exit('mocov3' in sys.argv[1])"
    planned(monkeypatch, tmp_path / 'worker.py', program)
    with pytest.raises(SystemExit, match=r'error: 2 run\(s\) failed, mocov3-digits-2e-s0 first; last lines are in'):
        evidence.main(arguments(tmp_path))
    assert 'patchmix_oto-digits-2e-s1: done' in capsys.readouterr().out
    assert (tmp_path / 'state/evidence/runs/mocov3-digits-2e-s0.log').read_text() == 'no space left\n'


def test_it_ends_in_time_and_says_that_something_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    planned(monkeypatch, tmp_path / 'worker.py', 'import time\ntime.sleep(60)')
    for name, seconds in dict(TO_SAVE=1, TO_BEGIN=1.5, TO_WRITE=0).items():
        monkeypatch.setattr(evidence, name, seconds)
    begun = time.monotonic()
    with pytest.raises(SystemExit) as ended:
        evidence.main(arguments(tmp_path, minutes=3 / 60, out=tmp_path / 'rows.json'))
    assert ended.value.code == 85 and time.monotonic() - begun < 30
    assert json.loads((tmp_path / 'rows.json').read_text()) == [] and (tmp_path / 'rows.md').exists()


TINY = f"""
import runpy, sys
sys.path.insert(0, {str(ROOT / 'tools/benchmark')!r})
import evidence_rows
from evidence_rows import Pair, Table
evidence_rows.TABLES = (Table('Tiny', 'digits', 2, (Pair('patchmix_oto', 'mocov3'),), seeds=(0,)),)
runpy.run_path({str(ROOT / 'tools/benchmark/evidence_run.py')!r}, run_name='__main__')
"""


@pytest.mark.long
def test_two_runs_one_of_which_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    worker = tmp_path / 'worker.py'
    table = planned(monkeypatch, worker, TINY, seeds=(0,))
    state = evidence.State(tmp_path / 'state')
    run = table.run('mocov3', '', 0)
    command = state.command(run, 1, 'cpu', 0)  # ends after its first step
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 85
    assert state.found(run) is None and state.is_begun(run)
    evidence.main(arguments(tmp_path, jobs=2))
    found = {method: state.found(table.run(method, '', 0)) for method in table.methods}
    assert not state.is_begun(run)
    text = (tmp_path / 'out/evidence.md').read_text()
    for method, one in found.items():
        assert one and one['steps'] == 44 and set(one['curve']) == {'1', '2'}, method
        assert 20 < one['curve']['2']['target_knn'] < 100 and len(one['draws']['online_few1_logistic']) == 40
        assert f'| {method}-digits-2e | target | 1 |' in text
    (rows,) = [json.loads((tmp_path / 'out/evidence.json').read_text())]
    assert [row['encoder'] for row in rows] == ['target', 'online'] and rows[0]['order'] == 'no number of this measure'
    # As far as without the interruption.
    alone = state.command(run, 500, 'cpu', 0)
    alone[alone.index('--work-dir') + 1] = str(tmp_path / 'alone')
    alone[alone.index('--out') + 1] = str(tmp_path / 'alone.json')
    subprocess.run(alone, cwd=ROOT, check=True)
    assert json.loads((tmp_path / 'alone.json').read_text())['curve'] == found['mocov3']['curve']
