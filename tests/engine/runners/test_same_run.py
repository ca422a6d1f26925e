"""A run goes on from a checkpoint of its own images, and of a step that it can have."""

from pathlib import Path
from unittest.mock import patch

import pytest
import torch
from engine.tiny_runs import BATCH_SIZE, STEPS_PER_EPOCH, run_config, trained
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.same_run import check_same_run
from mixcl.errors import UserError

NUMBER = BATCH_SIZE * STEPS_PER_EPOCH


@pytest.fixture(scope='module')
def stored(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The checkpoint of a run of one epoch."""
    folder = tmp_path_factory.mktemp('run')
    trained(run_config(folder, train_cfg__max_epochs=1))
    return folder / 'epoch_1.pth'


@pytest.fixture(scope='module')
def runner(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    """A run of two epochs that might continue it."""
    runner = build_runner(run_config(tmp_path_factory.mktemp('again')))
    assert runner.train_loop  # built within the scope of mixcl, as where a run is resumed
    return runner


def check(runner: Runner, stored: Path, allow: bool = False, **changes: object) -> str:
    """What is told, with other values in the checkpoint's ``meta``; None takes one out."""
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


def test_positions_that_runs_write(runner: Runner, stored: Path) -> None:
    for meta in (dict(), dict(iter=STEPS_PER_EPOCH + 2), dict(epoch=0), dict(steps_per_epoch=None)):
        assert 'finished' not in check(runner, stored, **meta)
    assert 'at the end of the run (2 epochs), which is finished' in check(
        runner, stored, epoch=2, iter=2 * STEPS_PER_EPOCH
    )


def test_other_images_are_refused_or_told(runner: Runner, stored: Path) -> None:
    for number, words in (NUMBER, 'as many, of other names'), (1, f'{NUMBER} now'):
        images, told = dict(number=number, digest='0'), f'was trained on {number} images, and there are {words}'
        with pytest.raises(UserError, match=f'{told}.*another folder.*--allow-changes'):
            check(runner, stored, images=images)
        assert told in check(runner, stored, allow=True, images=images)
    assert 'images' not in check(runner, stored, images=None)  # of a checkpoint that does not know


def test_a_later_checkpoint_beside_the_chosen_one_is_told(stored: Path, capsys: pytest.CaptureFixture) -> None:
    whole, later = torch.load(stored, weights_only=True), stored.with_name('epoch_2.pth')
    torch.save({**whole, 'meta': whole['meta'] | dict(iter=2 * STEPS_PER_EPOCH, epoch=2)}, later)
    build_runner(run_config(stored.parent, resume=True, load_from=str(stored)))
    later.unlink()
    assert 'epoch_2.pth is of a later step' in capsys.readouterr().out


def test_a_run_of_one_image_more_is_not_continued(stored: Path) -> None:
    cfg = run_config(stored.parent, resume=True, train_dataloader__dataset__dataset__indices=NUMBER + 1)
    with pytest.raises(UserError, match=f'was trained on {NUMBER} images, and there are {NUMBER + 1} now'):
        build_runner(cfg)
