"""What a run leaves on the disk: whole, plain, finite, and the new before the old goes."""

import errno
import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl import files
from mixcl.engine import CheckpointHook
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.files import UNFINISHED, WholeFileBackend, is_whole, written_whole


class Poison(Hook):
    """Spoils a weight after a step, where no check of gradients sees it."""

    priority = 'LOW'

    def __init__(self, step: int) -> None:
        self.step = step

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        if runner.iter + 1 == self.step:
            runner.model.neck.state_dict()['fc0.weight'][0, 0] = float('nan')


class Accuracy(Hook):
    """Pretends to evaluate after every epoch."""

    def __init__(self, values: list[float]) -> None:
        self.values = values

    def before_train_epoch(self, runner: Runner) -> None:
        if runner.epoch > 0:
            (hook,) = [hook for hook in runner.hooks if isinstance(hook, CheckpointHook)]
            hook.after_val_epoch(runner, dict(accuracy=self.values[runner.epoch - 1]))


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob('*.pth')}


@pytest.fixture(scope='module')
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('finished')
    trained(run_config(folder, train_cfg__max_epochs=3))
    return folder


def test_the_last_two_are_kept_with_their_checksums(finished: Path) -> None:
    assert names(finished) == {'epoch_2.pth', 'epoch_3.pth'}
    for path in finished.glob('*.pth'):
        stored = path.with_name(f'{path.name}.sha256').read_text()
        assert stored == f'{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}\n'
    assert len(list(finished.glob('*.sha256'))) == 2


def test_stock_torch_reads_a_checkpoint_without_our_libraries(finished: Path, tmp_path: Path) -> None:
    program = (
        'import sys, torch\n'
        f'checkpoint = torch.load({str(finished / "epoch_3.pth")!r}, weights_only=True)\n'
        'assert not {"mixcl", "mmengine", "mmpretrain"} & set(sys.modules)\n'
        'print(sorted(checkpoint), checkpoint["meta"]["iter"], len(checkpoint["state_dict"]))\n'
    )
    result = subprocess.run([sys.executable, '-c', program], cwd=tmp_path, env={}, capture_output=True, text=True)
    parts = ['message_hub', 'meta', 'optimizer', 'param_schedulers', 'state_dict']
    weights = torch.load(finished / 'epoch_3.pth', weights_only=True)['state_dict']
    assert result.stdout == f'{parts} {3 * STEPS_PER_EPOCH} {len(weights)}\n', result.stderr


def test_the_old_goes_only_when_the_new_is_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    there = []

    def watched(self: WholeFileBackend, path: str) -> None:
        there.append((Path(path).name, {file.name for file in tmp_path.glob('*.pth') if is_whole(file)}))
        remove(self, path)

    remove = WholeFileBackend.remove
    monkeypatch.setattr(WholeFileBackend, 'remove', watched)
    trained(run_config(tmp_path, train_cfg__max_epochs=3))
    assert there == [('epoch_1.pth', {f'epoch_{number}.pth' for number in (1, 2, 3)})]


def fill_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let one file find no room."""

    @contextmanager
    def full(path: Path, **options: object) -> Iterator[BinaryIO]:
        with written_whole(path, **options) as file:
            yield file
            if Path(path).name.startswith(name):
                raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(files, 'written_whole', full)


def test_a_full_disk_leaves_the_old_files_and_the_run_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch, 'epoch_3.pth')
    trained(run_config(tmp_path, train_cfg__max_epochs=4))
    assert names(tmp_path) == {'epoch_2.pth', 'epoch_4.pth'}
    assert not list(tmp_path.glob(f'*{UNFINISHED}'))
    (error,) = [line for line in Path(next(tmp_path.glob('*/*.log'))).read_text().splitlines() if 'ERROR' in line]
    assert 'the checkpoint of step 15 could not be written' in error and 'No space left on device' in error


def test_a_full_disk_at_the_end_ends_in_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fill_disk(monkeypatch, 'epoch_2.pth')
    with pytest.raises(UserError, match=r'step 10 could not be .*No space left.*make room and continue with --resume'):
        trained(run_config(tmp_path))
    assert names(tmp_path) == {'epoch_1.pth'}


def test_weights_that_are_not_finite_are_never_written(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path, train_cfg__max_epochs=3))
    runner.register_hook(Poison(2 * STEPS_PER_EPOCH))
    with pytest.raises(UserError, match=r'after step 10 weights are infinite or NaN \(neck\.fc0\.weight; 1 tensors\)'):
        runner.train()
    assert names(tmp_path) == {'epoch_1.pth'}


def test_the_best_checkpoint_is_replaced_by_a_better_one(tmp_path: Path) -> None:
    settings = dict(default_hooks__checkpoint__save_best='accuracy', default_hooks__checkpoint__rule='greater')
    runner = build_runner(run_config(tmp_path, train_cfg__max_epochs=4, **settings))
    runner.register_hook(Accuracy([0.3, 0.5, 0.4]))
    runner.train()
    assert names(tmp_path) == {'best_accuracy_epoch_2.pth', 'epoch_3.pth', 'epoch_4.pth'}
    assert all(is_whole(path) for path in tmp_path.glob('*.pth')) and len(list(tmp_path.glob('*.sha256'))) == 3


def test_what_a_kill_left_behind_is_cleared(tmp_path: Path) -> None:
    left_behind = tmp_path / f'epoch_7.pth{UNFINISHED}'
    left_behind.write_bytes(b'half')
    trained(run_config(tmp_path, train_cfg__max_epochs=1))
    assert not left_behind.exists()


def test_a_resumed_run_steps_back_from_a_damaged_checkpoint(finished: Path, tmp_path: Path) -> None:
    """And ends as the undisturbed run does."""
    trained(run_config(tmp_path, train_cfg__max_epochs=2))
    (tmp_path / 'epoch_2.pth').write_bytes((tmp_path / 'epoch_2.pth').read_bytes()[:-5000])
    runner = trained(run_config(tmp_path, train_cfg__max_epochs=2, resume=True))
    log = sorted(tmp_path.glob('*/*.log'))[-1].read_text()
    assert 'resumed epoch: 1, iter: 5' in log
    assert is_whole(tmp_path / 'epoch_2.pth')
    assert runner.iter == 2 * STEPS_PER_EPOCH
