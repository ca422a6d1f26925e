"""Interrupted trainings of protocols give the same as uninterrupted ones."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from tools.command import run
from tools.in_process import run_here

from mixcl.engine.hooks.revalidation import Revalidation
from mixcl.evaluation import running
from mixcl.evaluation.results import Row
from mixcl.evaluation.running import folder_name, run_evaluation
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.subject import Subject

RANDOM = Subject()
SMALL = {
    'schedule.epochs': 3,
    'measure.every': 2,
    'train_dataloader.num_workers': 0,
    'at_once': 32,  # a step accumulates four of them
    'data.splits.train.indices': 256,
    'val_dataloader.num_workers': 0,
    'model.backbone.backbone.arch.num_layers': 1,
}


def probe(folder: Path, resume: bool) -> Row:
    (evaluation,) = planned(('linear',), 'digits', RANDOM, overrides=SMALL)
    return run_evaluation(evaluation, RANDOM, folder, resume=resume)


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Row]:
    folder = tmp_path_factory.mktemp('whole')
    return folder, probe(folder, resume=False)


def test_last_and_best_are_reported(whole: tuple[Path, Row]) -> None:
    _, outcome = whole
    assert outcome['metrics'].keys() == outcome['best'].keys() == {'accuracy/top1', 'accuracy/top5'}
    assert all(outcome['best'][name] >= value for name, value in outcome['metrics'].items())
    assert Path(outcome['trained']).name == 'epoch_3.pth'


@pytest.mark.parametrize('lost', [(), ('epoch_3.pth',)])
def test_a_resumed_training_has_the_same_outcome(whole: tuple[Path, Row], lost: tuple[str, ...]) -> None:
    folder, outcome = whole
    (run,) = folder.iterdir()
    for name in lost:
        (run / name).unlink()
    assert probe(folder, resume=True) == outcome


def test_checkpoints_within_epochs_are_continued_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (evaluation,) = planned(('linear',), 'digits', RANDOM, overrides=SMALL)
    file = tmp_path / folder_name(evaluation, RANDOM) / 'iter_5.pth'
    file.parent.mkdir()
    file.touch()
    asked = []
    monkeypatch.setattr(running, 'build_runner', lambda cfg, overwrite: asked.append((cfg.resume, overwrite)) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        run_evaluation(evaluation, RANDOM, tmp_path)
    assert asked == [(True, False)]


def test_a_validation_is_repeated_at_the_end_of_an_epoch_only() -> None:
    validations = []
    loop = SimpleNamespace(epoch=1, iter=3, max_epochs=3, val_begin=1, val_interval=1, dataloader=range(2))
    runner = SimpleNamespace(train_loop=loop, val_loop=SimpleNamespace(run=lambda: validations.append(loop.iter)))
    for loop.iter in (2, 3):
        Revalidation().before_train(runner)
    assert validations == [2]


def test_other_weights_do_not_go_on_from_what_became_of_the_first() -> None:
    (evaluation,) = planned(('linear',), 'digits', RANDOM, overrides=SMALL)
    subjects = (RANDOM, *(Subject('epoch_1.pth', digest) for digest in ('first', 'second')))
    assert len({folder_name(evaluation, subject) for subject in subjects}) == 3


def head(folder: Path) -> torch.Tensor:
    (path,) = folder.rglob('epoch_2.pth')
    state = torch.load(path, map_location='cpu', weights_only=True)['state_dict']
    return torch.cat([value.flatten() for name, value in state.items() if name.startswith('head.')])


@pytest.mark.long
def test_neither_the_images_seen_at_once_nor_the_processes_change_a_result(tmp_path: Path) -> None:
    arguments = ('tools/evaluate.py', 'random', '--data', 'digits', '--protocols', 'knn', 'linear_fast', 'linear')
    loaders = ('test_dataloader', 'test_cfg.bank_dataloader')
    options = [f'{name}.{loader}.num_workers=0' for name in ('knn', 'linear_fast') for loader in loaders]
    options += [f'linear.{name}_dataloader.num_workers=0' for name in ('train', 'val')]
    options += ['linear.schedule.epochs=2', 'linear_fast.test_evaluator.epochs=20']
    for images in (128, 16):
        at_once = f'linear.at_once={images}'
        assert run_here(*arguments, '--work-dir', tmp_path / f'{images}', options=(*options, at_once)) == 0
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    two = ('--work-dir', tmp_path / 'two', '--launcher', 'pytorch', '--cfg-options', *options)
    result = run(*launch, *arguments, *two, timeout=300)
    assert result.returncode == 0, result.stderr[-3000:]
    expected = head(tmp_path / '128')
    assert expected.abs().max() > 1e-2
    for other in ('16', 'two'):
        torch.testing.assert_close(head(tmp_path / other), expected, rtol=1e-4, atol=1e-6)
    found = [json.loads((tmp_path / name / 'results.json').read_text())[:2] for name in ('128', 'two')]
    assert [row['metrics'] for row in found[0]] == [row['metrics'] for row in found[1]]
