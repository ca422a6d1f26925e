"""The file of results and its table."""

import errno
import fcntl
import json
import multiprocessing
import os
import signal
from pathlib import Path

import pytest

from mixcl.errors import UserError
from mixcl.evaluation.results import Results, table

FORK = multiprocessing.get_context('fork')
PAPERS = '94.6 (PatchMix, Table 3), 94.6 (PatchMix, Table 5)'


def row(**changes: object) -> dict:
    return (
        dict(
            checkpoint=dict(path='runs/epoch_800.pth', sha256='ab', config_name='patchmix/vit-s2_cifar10', epoch=800),
            encoder='target',
            data='cifar10',
            protocol=dict(name='knn', version=1, neighbours=[10, 20]),
            config=dict(path='configs/evaluation/recipes/knn/backbone.py', sha256='cd'),
            overrides={},
            paper=[
                dict(method='PatchMix', metric='top1', value=94.6, source='PatchMix, Table 3'),
                dict(method='PatchMix', metric='top1', value=94.6, source='PatchMix, Table 5'),
            ],
            precision='fp32',
            seed=7,
            versions=dict(mixcl='0.1.0', torch='2.10.0'),
            metrics=dict(knn10_top1=90.0, knn10_top5=99.0, knn20_top1=94.0, knn20_top5=99.5),
            best={},
            trained=None,
            seconds=3.2,
        )
        | changes
    )


def cells(text: str, metric: str) -> list[str]:
    (line,) = [line for line in text.splitlines() if f'| {metric} |' in line]
    return [cell.strip() for cell in line.strip('|').split('|')]


def test_a_result_is_stored_at_once_and_another_takes_its_place(tmp_path: Path) -> None:
    results = Results(tmp_path / 'out')
    assert results.finished(row()) is None
    for changes in (dict(metrics=dict(knn10_top1=1.0), seconds=1), {}):
        results.add(row(**changes))
        (stored,) = json.loads((tmp_path / 'out/results.json').read_text())
        again = Results(tmp_path / 'out')
        assert again.finished(row()) == stored == row(**changes)
        assert (tmp_path / 'out/results.md').read_text() == table([stored]) + '\n'
    names = ['results.json', 'results.json.lock', 'results.md']
    assert sorted(path.name for path in (tmp_path / 'out').iterdir()) == names


def test_another_evaluation_is_not_finished(tmp_path: Path) -> None:
    """This holds also where another command stored a result meanwhile."""
    results = Results(tmp_path)
    for number, change in enumerate((
        {},
        dict(encoder='online'),
        dict(data='cifar100'),
        dict(protocol=dict(name='knn', version=2, neighbours=[10, 20])),
        dict(config=dict(path='configs/evaluation/recipes/knn/backbone.py', sha256='ce')),
        dict(checkpoint=dict(path='runs/epoch_800.pth', sha256='ac', config_name='x', epoch=800)),
    )):  # fmt: skip
        assert Results(tmp_path).finished(row(**change)) is None
        (results if number % 2 else Results(tmp_path)).add(row(**change))
        assert len(Results(tmp_path).rows) == number + 1


def test_a_file_of_something_else_is_refused_and_kept(tmp_path: Path) -> None:
    damaged = json.dumps([row(metrics=dict(knn10_top1='many'))]), json.dumps([row(protocol=3)])
    for text in ('{"a": 1}', '[1]', '[{"metrics": {}}]', 'not json', *damaged):
        (tmp_path / 'results.json').write_text(text)
        with pytest.raises(UserError, match='holds no results of mixcl evaluate'):
            Results(tmp_path)
        assert (tmp_path / 'results.json').read_text() == text


def add_rows(folder: Path, process: int) -> None:
    results = Results(folder)
    for number in range(20):
        results.add(row(data=f'{process}/{number}'))


def test_rows_of_processes_that_add_at_the_same_time_are_all_there(tmp_path: Path) -> None:
    with FORK.Pool(4) as processes:
        processes.starmap(add_rows, [(tmp_path, process) for process in range(4)], chunksize=1)
    stored = Results(tmp_path).rows
    assert {one['data'] for one in stored} == {f'{process}/{number}' for process in range(4) for number in range(20)}
    assert len(stored) == 80 and (tmp_path / 'results.md').read_text() == table(stored) + '\n'
    assert len(os.listdir(tmp_path)) == 3


def test_a_kill_between_writing_and_renaming_loses_one_row_and_holds_up_nobody(tmp_path: Path) -> None:
    Results(tmp_path).add(row(data='first'))

    def killed() -> None:
        os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        Results(tmp_path).add(row(data='second'))

    process = FORK.Process(target=killed)
    process.start()
    process.join(60)
    (left,) = tmp_path.glob('results.json.*.part')
    assert process.exitcode == -signal.SIGKILL and [one['data'] for one in Results(tmp_path).rows] == ['first']
    os.utime(left, (0, 0))
    Results(tmp_path).add(row(data='third'))
    assert [one['data'] for one in Results(tmp_path).rows] == ['first', 'third']
    assert len(os.listdir(tmp_path)) == 3


@pytest.mark.parametrize('kind', ['pipe', 'device', 'folder', 'too large'])
def test_what_is_no_file_of_results_is_refused_without_reading_it(kind: str, tmp_path: Path) -> None:
    path = tmp_path / 'results.json'
    make = {
        'pipe': lambda: os.mkfifo(path),
        'device': lambda: path.symlink_to('/dev/zero'),
        'folder': path.mkdir,
        'too large': lambda: path.touch() or os.truncate(path, 2**40),
    }
    make[kind]()
    words = 'a folder, not a file' if kind == 'folder' else 'too large: 1,099' if kind == 'too large' else 'a pipe or a'
    with pytest.raises(UserError, match=rf'results\.json holds no results of mixcl evaluate \({words}.*\); move it'):
        Results(tmp_path)


def test_without_locks_a_row_is_stored_and_the_risk_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_locks(*_: object) -> None:
        raise OSError(errno.ENOLCK, 'No locks available')

    said: list[str] = []
    monkeypatch.setattr('mixcl.evaluation.results.tell', said.append)
    monkeypatch.setattr(fcntl, 'flock', no_locks)
    Results(tmp_path).add(row())
    assert len(Results(tmp_path).rows) == 1
    (sentence,) = said
    assert 'results.json cannot be locked ([Errno 37] No locks available)' in sentence


def test_the_papers_number_stands_beside_the_best_k() -> None:
    text = table([row()])
    assert cells(text, 'knn20_top1')[-2:] == ['94.00', PAPERS]
    assert cells(text, 'knn10_top1')[-1] == cells(text, 'knn20_top5')[-1] == '-'
    assert 'patchmix/vit-s2_cifar10, 800 epochs | knn | cifar10 | target' in text
    path = 'configs/evaluation/recipes/knn/backbone.py'
    assert f'knn on cifar10, `{path}`; version: 1; neighbours: [10, 20]; fp32, seed 7' in text


def test_training_protocols_show_the_last_and_the_best_epoch_of_the_metrics_that_they_list() -> None:
    values = {'accuracy/top1': 95.0, 'accuracy/feat1_top1': 10.0, 'accuracy/top5': 99.0}
    trained = row(
        protocol=dict(name='linear', version=1, recipe='patchmix', listed=['accuracy/top1', 'accuracy/feat1_top1']),
        metrics=values,
        best=values | {'accuracy/top1': 95.5},
        overrides={'train_cfg.max_epochs': 2},
    )
    text = table([trained])
    assert cells(text, 'accuracy/top1')[-2:] == ['95.00 [95.50]', PAPERS]
    assert cells(text, 'accuracy/feat1_top1')[-1] == '-'
    assert 'changed: train_cfg.max_epochs=2' in text and 'top5' not in text and 'listed' not in text


def test_untrained_and_bare_backbones_have_names() -> None:
    random = dict(path='random', sha256=None, config_name=None, epoch=None)
    bare = dict(path='weights/r50.pth', sha256='ef', config_name=None, epoch=None)
    text = table([row(checkpoint=random), row(checkpoint=bare), row(checkpoint=random | dict(config_name='aps/x'))])
    assert {line.split(' | ')[0] for line in text.splitlines()[2:14]} == {'| random', '| r50', '| random (aps/x)'}
