"""A run resumes only from a checkpoint of its own images and settings, at a step that it can reach."""

import re
from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from engine.tiny_runs import BATCH_SIZE, STEPS_PER_EPOCH, run_config, trained
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.same_run import check_same_run, keeps_computation
from mixcl.errors import UserError
from mixcl.recipes.difference import Change

NUMBER = BATCH_SIZE * STEPS_PER_EPOCH


@pytest.fixture(scope='module')
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the checkpoint of a run of one epoch."""
    folder = tmp_path_factory.mktemp('run')
    trained(run_config(folder, train_cfg__max_epochs=1))
    return folder / 'epoch_1.pth'


@pytest.fixture(scope='module')
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """Return a run of two epochs that might resume ``stored``."""
    runner = build_runner(run_config(tmp_path_factory.mktemp('again')))
    assert runner.train_loop  # built within the scope of mixcl, as when a run is resumed
    return runner


def check(runner: Runner, stored: Path, allow: bool = False, **changes: object) -> str:
    """Return what is logged for a checkpoint with other values in its ``meta``; None removes a value."""
    whole = torch.load(stored, weights_only=True)
    meta = {name: value for name, value in (whole['meta'] | changes).items() if value is not None}
    with patch.object(runner.logger, 'info') as info:
        check_same_run(runner, {**whole, 'meta': meta}, str(stored), allow)
    return ' '.join(call.args[0] for call in info.call_args_list)


def test_a_position_that_the_run_cannot_have_is_refused(runner: Runner, stored: Path) -> None:
    for name, values in dict(
        iter=(-1, 'five', True, 5.0, None, STEPS_PER_EPOCH - 1, 10**9),
        epoch=(-1, 'one', None, 2, 10**9),
        steps_per_epoch=(0, -5, 'five'),
    ).items():
        for value in values:
            with pytest.raises(UserError, match=r'epoch_1\.pth says that .* cannot be'):
                check(runner, stored, **{name: value})
    with pytest.raises(UserError, match=r'after step 15, beyond the end of the run at 10 \(max_epochs=2\)'):
        check(runner, stored, epoch=3, iter=3 * STEPS_PER_EPOCH)
    with pytest.raises(UserError, match=r'the number of steps per epoch was 10 and is 5 now'):
        check(runner, stored, epoch=0, iter=3, steps_per_epoch=10)


def test_positions_that_runs_write(runner: Runner, stored: Path) -> None:
    for meta in (dict(), dict(iter=STEPS_PER_EPOCH + 2), dict(epoch=0), dict(steps_per_epoch=None)):
        assert 'finished' not in check(runner, stored, **meta)
    told = check(runner, stored, epoch=2, iter=2 * STEPS_PER_EPOCH)
    assert 'at the end of the run (2 epochs), which is finished' in told


def test_other_images_are_refused_or_told(runner: Runner, stored: Path) -> None:
    for number, told in (
        (NUMBER, r"the digest of the training images \(their names, in order\) was '0' and is '\w+"),
        (1, f'the number of training images was 1 and is {NUMBER} now'),
    ):
        images = dict(number=number, digest='0')
        with pytest.raises(UserError, match=f'{told}.*another folder.*`allow_changes`'):
            check(runner, stored, images=images)
        assert re.search(told, check(runner, stored, allow=True, images=images))
    assert 'images' not in check(runner, stored, images=None)  # a checkpoint may have none


def test_a_cache_of_photos_may_move_but_neither_come_nor_go() -> None:
    path = 'train_dataloader.dataset.cache'
    assert keeps_computation(Change(f'{path}.folder', 'a', 'b'))
    assert keeps_computation(Change(f'{path}.gigabytes', 1, 2))
    assert not keeps_computation(Change(path, None, dict(folder='a', gigabytes=1)))


def test_a_later_checkpoint_beside_the_chosen_one_is_told(stored: Path, capsys: pytest.CaptureFixture) -> None:
    whole, later = torch.load(stored, weights_only=True), stored.with_name('epoch_2.pth')
    torch.save({**whole, 'meta': whole['meta'] | dict(iter=2 * STEPS_PER_EPOCH, epoch=2)}, later)
    build_runner(run_config(stored.parent, resume=True, load_from=str(stored)))
    later.unlink()
    assert 'epoch_2.pth is of a later step' in capsys.readouterr().out


# ----- settings -----


def told(runner: Runner, stored: Path, processes: int = 1, **changes: object) -> list[str]:
    """Return what is logged if the earlier run had these settings."""
    before = run_config(stored.parent, **changes).pretty_text
    return re.findall(r'changed: (.*?)(?= changed:|$)', check(runner, stored, cfg=before, world_size=processes))


def test_what_does_not_change_the_computation_is_told(runner: Runner, stored: Path) -> None:
    assert told(runner, stored, resume=True) == []
    for name, value in dict(
        train_cfg__max_epochs=9,
        train_dataloader__num_workers=3,
        default_hooks__logger__interval=7,
        default_hooks__nonfinite__policy='skip',
        train_dataloader__dataset__dataset__data_root='elsewhere',
        visualizer__vis_backends=[],
    ).items():
        (line,) = told(runner, stored, **{name: value})
        assert line.startswith(name.replace('__', '.'))
    assert 'schedules follow' in told(runner, stored, train_cfg__max_epochs=9)[0]


@pytest.mark.parametrize(
    'name, value',
    [
        ('optim_wrapper__optimizer__weight_decay', 0.5),
        ('optim_wrapper__optimizer__type', 'SGD'),
        ('param_scheduler', []),
        ('model__mixer__num_mix', 2),
        ('train_dataloader__batch_size', 4),
        ('train_dataloader__dataset__dataset__indices', 39),
        ('train_dataloader__dataset__dataset__pipeline', []),
        ('randomness__seed', 1),
        ('custom_hooks', [dict(type='AdaptiveClipHook')]),
        ('default_hooks__clip', dict(type='AdaptiveClipHook')),
    ],
)
def test_what_changes_the_computation_is_refused(runner: Runner, stored: Path, name: str, value: object) -> None:
    with pytest.raises(UserError, match=rf'epoch_1\.pth is of another run: {name.split("__")[0]}.*`allow_changes`'):
        told(runner, stored, **{name: value})


def test_processes_may_change_where_the_global_batch_does_not(runner: Runner, stored: Path) -> None:
    batch, processes = told(runner, stored, processes=2, train_dataloader__batch_size=BATCH_SIZE // 2)
    assert 'batch_size was 4 and is 8 now' in batch and 'was 2 and is 1 now' in processes
    with pytest.raises(UserError, match='the number of processes was 2 and is 1 now'):
        told(runner, stored, processes=2)
