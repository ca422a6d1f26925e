"""What hooks know goes on with a resumed run, and a run that one ends early is saved."""

from collections import deque
from pathlib import Path

import pytest
import torch
from engine.probe_runs import validated
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.errors import UserError
from mixcl.registry import HOOKS

KNN = 'online_knn3_top1'
STOPS = dict(type='EarlyStoppingHook', monitor=KNN, rule='greater', min_delta=1000, patience=3)
"""Ends a run after its fourth validation: no gain is enough."""


def stopping(folder: Path, **overrides: object) -> Runner:
    settings = dict(train_cfg__max_epochs=9, train_cfg__val_interval=1, custom_hooks=[STOPS])
    return trained(validated(run_config(folder, **settings, **overrides)))


def test_a_finished_run_knows_its_last_measure(tmp_path: Path) -> None:
    """A checkpoint that was written before the validation has the measures of the epochs before."""
    measures = [
        trained(validated(run_config(tmp_path, resume=again, train_cfg__val_interval=1)))
        .message_hub.get_scalar(f'val/{KNN}')
        .data[0]
        .tolist()
        for again in (False, True)
    ]
    assert len(measures[0]) == 2 and measures[0] == measures[1]


def test_early_stopping_saves_says_why_and_keeps_patience(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rare, every = dict(default_hooks__checkpoint__interval=100), dict(default_hooks__checkpoint__max_keep_ckpts=-1)
    assert stopping(tmp_path / 'rare', **rare).iter == 4 * STEPS_PER_EPOCH
    (saved,) = (tmp_path / 'rare').glob('*.pth')
    assert torch.load(saved, weights_only=True)['meta']['iter'] == 4 * STEPS_PER_EPOCH
    told = capsys.readouterr().out
    assert 'did not improve in the last 3 records' in told
    assert f'ended the training after step 20 of 45: everything is saved in {saved}' in told
    assert stopping(tmp_path / 'rare', **rare, resume=True).iter == 4 * STEPS_PER_EPOCH
    assert [*(tmp_path / 'rare').glob('*.pth')] == [saved], 'a run that has ended is not trained any further'
    stopping(tmp_path / 'every', **every)
    second = tmp_path / 'every/epoch_2.pth'
    again = stopping(tmp_path / 'again', **every, resume=True, load_from=str(second))
    assert again.iter == 4 * STEPS_PER_EPOCH


class Counting(Hook):
    """Counts steps, in a way that no checkpoint knows of."""

    def __init__(self) -> None:
        self.newest = deque([0], maxlen=1)

    def after_train_iter(self, runner: Runner, *args: object, **kwargs: object) -> None:
        self.newest.append(self.newest[-1] + 1)


class Kept(Counting):
    """Says what is to be kept."""

    def state_dict(self) -> dict:
        return dict(newest=self.newest[-1])

    def load_state_dict(self, state: dict) -> None:
        self.newest.append(state['newest'])


class Unreadable(Kept):
    """Returns an object that a checkpoint of plain values cannot hold."""

    def state_dict(self) -> dict:
        return dict(newest=self.newest)


def counting(folder: Path, kind: type[Hook], **overrides: object) -> Runner:
    HOOKS.register_module(module=kind, force=True)
    return trained(run_config(folder, custom_hooks=[dict(type=kind.__name__)], **overrides))


def test_the_state_of_a_users_hook_is_kept_or_refused(tmp_path: Path) -> None:
    counting(tmp_path / 'kept', Kept, train_cfg__max_epochs=1)
    hooks = counting(tmp_path / 'kept', Kept, resume=True).hooks
    assert [hook.newest[-1] for hook in hooks if isinstance(hook, Counting)] == [2 * STEPS_PER_EPOCH]
    for kind, reason in (
        (Counting, 'Counting changes newest in training'),
        (Unreadable, r'state_dict\(\) returns more'),
    ):
        folder = tmp_path / kind.__name__
        counting(folder, kind, train_cfg__max_epochs=1)
        assert reason.replace('\\', '') in next(folder.glob('*/*.log')).read_text()
        with pytest.raises(UserError, match=f'epoch_1.pth cannot continue its run: .*{reason}'):
            counting(folder, kind, resume=True)
