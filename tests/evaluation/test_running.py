"""Trainings of protocols that are interrupted give what uninterrupted ones give."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from mmengine.registry import DefaultScope

from mixcl.evaluation.plan import Request, planned
from mixcl.evaluation.running import Outcome, Revalidation, run_evaluation
from mixcl.evaluation.subject import Subject
from mixcl.registry import MODELS

CONFIGS = Path(__file__).parents[2] / 'configs'
RANDOM = Subject('random', None, {}, None, None)
SMALL = {
    'train_cfg.max_epochs': 3,
    'train_cfg.val_interval': 2,
    'train_dataloader.num_workers': 0,
    'train_dataloader.batch_size': 32,  # a step accumulates four of them
    'train_dataloader.dataset.dataset.indices': 256,
    'val_dataloader.num_workers': 0,
    'model.backbone.backbone.arch.num_layers': 1,
}


def probe(folder: Path, resume: bool) -> Outcome:
    (evaluation,) = planned(Request(CONFIGS, ('linear',), 'digits', overrides=SMALL), RANDOM)
    return run_evaluation(evaluation, RANDOM, folder, resume=resume)


@pytest.fixture(scope='module')
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Outcome]:
    folder = tmp_path_factory.mktemp('whole')
    return folder, probe(folder, resume=False)


def test_last_and_best_are_reported(whole: tuple[Path, Outcome]) -> None:
    _, outcome = whole
    assert outcome.metrics.keys() == outcome.best.keys() == {'accuracy/top1', 'accuracy/top5'}
    assert all(outcome.best[name] >= value for name, value in outcome.metrics.items())
    assert Path(outcome.trained).name == 'epoch_3.pth'


@pytest.mark.parametrize('lost', [(), ('epoch_3.pth',)])
def test_a_resumed_training_has_the_same_outcome(whole: tuple[Path, Outcome], lost: tuple[str, ...]) -> None:
    folder, outcome = whole
    (run,) = folder.iterdir()
    for name in lost:
        (run / name).unlink()
    assert probe(folder, resume=True) == outcome


def test_a_validation_is_repeated_at_the_end_of_an_epoch_only() -> None:
    validations = []
    loop = SimpleNamespace(epoch=1, iter=3, max_epochs=3, val_begin=1, val_interval=1, dataloader=range(2))
    runner = SimpleNamespace(train_loop=loop, val_loop=SimpleNamespace(run=lambda: validations.append(loop.iter)))
    for loop.iter in (2, 3):
        Revalidation().before_train(runner)
    assert validations == [2]


def test_other_weights_do_not_go_on_from_what_became_of_the_first(tmp_path: Path) -> None:
    outcomes = {}
    for name in ('first', 'second'):
        (evaluation,) = planned(Request(CONFIGS, ('linear',), 'digits', overrides=SMALL), RANDOM)
        with DefaultScope.overwrite_default_scope('mixcl'):
            weights = MODELS.build(evaluation.cfg.model.backbone.backbone).state_dict()
        torch.save(weights, tmp_path / 'epoch_1.pth')
        subject = Subject(str(tmp_path / 'epoch_1.pth'), name, {}, None, None)
        outcomes[name] = run_evaluation(evaluation, subject, tmp_path)
    assert Path(outcomes['first'].trained).parent != Path(outcomes['second'].trained).parent
