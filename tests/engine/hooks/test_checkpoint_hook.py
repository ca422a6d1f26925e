"""Checkpoints on the disk are whole, plain and finite; an old one goes only when a new one is there."""

import errno
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

import pytest
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained

from mixcl import files
from mixcl.engine import CheckpointHook
from mixcl.errors import UserError
from mixcl.files import UNFINISHED, WholeFileBackend, is_whole, matches_checksum, written_whole


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.glob('*.pth')}


@pytest.fixture(scope='module')
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list]:
    """Return the folder of a run of three epochs, with a killed run's unfinished file, and each removed file with the
    checkpoints that were whole at that time."""
    folder, seen = tmp_path_factory.mktemp('finished'), []

    def watched(self: WholeFileBackend, path: str) -> None:
        seen.append((Path(path).name, {file.name for file in folder.glob('*.pth') if is_whole(file)}))
        remove(self, path)

    (folder / f'epoch_7.pth{UNFINISHED}').write_bytes(b'half')
    remove = WholeFileBackend.remove
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WholeFileBackend, 'remove', watched)
        trained(run_config(folder, train_cfg__max_epochs=3))
    return folder, seen


def test_the_last_two_are_kept_with_their_checksums(finished: tuple[Path, list]) -> None:
    folder, _ = finished
    kept = {f'epoch_{number}.pth{suffix}' for number in (2, 3) for suffix in ('', '.sha256')}
    assert {path.name for path in folder.glob('epoch*')} == kept
    assert all(matches_checksum(path) for path in folder.glob('*.pth'))


def test_the_old_goes_only_when_the_new_is_there(finished: tuple[Path, list]) -> None:
    assert finished[1] == [('epoch_1.pth', {f'epoch_{number}.pth' for number in (1, 2, 3)})]


def test_stock_torch_reads_a_checkpoint_without_our_libraries(finished: tuple[Path, list], tmp_path: Path) -> None:
    path = str(finished[0] / 'epoch_3.pth')
    program = (
        'import sys, torch\n'
        f'checkpoint = torch.load({path!r}, weights_only=True)\n'
        'assert not {"mixcl", "mmengine", "mmpretrain"} & set(sys.modules)\n'
        'print(sorted(checkpoint), checkpoint["meta"]["iter"], len(checkpoint["state_dict"]))\n'
    )
    result = subprocess.run([sys.executable, '-c', program], cwd=tmp_path, env={}, capture_output=True, text=True)
    parts = ['message_hub', 'meta', 'optimizer', 'param_schedulers', 'state_dict']
    weights = torch.load(path, weights_only=True)['state_dict']
    assert result.stdout == f'{parts} {3 * STEPS_PER_EPOCH} {len(weights)}\n', result.stderr


def fill_disk(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Let the disk be full for files whose names start with ``name``."""

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
    with pytest.raises(UserError, match=r'step 10 could not be .*No space left.*make room and resume the run'):
        trained(run_config(tmp_path))
    assert names(tmp_path) == {'epoch_1.pth'}


def test_only_a_better_checkpoint_takes_the_place_of_the_best_and_none_that_is_not_finite(tmp_path: Path) -> None:
    settings = dict(default_hooks__checkpoint__save_best='accuracy', default_hooks__checkpoint__rule='greater')
    runner = trained(run_config(tmp_path, train_cfg__max_epochs=1, **settings))
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, CheckpointHook)]
    for epoch, accuracy in ((1, 0.3), (2, 0.5), (3, 0.4)):
        runner.train_loop._epoch = epoch
        hook.after_val_epoch(runner, dict(accuracy=accuracy))
    there = {'best_accuracy_epoch_2.pth', 'epoch_1.pth', 'epoch_2.pth'}  # mmengine saves the newest again with the best
    assert names(tmp_path) == there
    assert all(is_whole(path) for path in tmp_path.glob('*.pth')) and len(list(tmp_path.glob('*.sha256'))) == 3
    runner.model.neck.state_dict()['fc0.weight'][0, 0] = float('nan')
    for save in (lambda: hook.after_val_epoch(runner, dict(accuracy=0.9)), lambda: hook.after_train_epoch(runner)):
        with pytest.raises(UserError, match=r'after step \d+ weights are infinite or NaN \(neck\.fc0\.weight; 1 tens'):
            save()
    assert names(tmp_path) == there


@pytest.mark.parametrize('measures', ['accuracy', ['accuracy', 'recall']])
def test_a_run_that_goes_on_elsewhere_leaves_the_best_of_the_first(measures: str | list[str], tmp_path: Path) -> None:
    settings = dict(default_hooks__checkpoint__save_best=measures, default_hooks__checkpoint__rule='greater')
    first, second = tmp_path / 'first', tmp_path / 'second'
    runner = trained(run_config(first, train_cfg__max_epochs=1, **settings))
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, CheckpointHook)]
    hook.after_val_epoch(runner, dict(accuracy=0.3, recall=0.3))
    resumed = dict(resume=True, load_from=str(first / 'epoch_1.pth'), optim_wrapper__optimizer__fused=False)
    runner = trained(run_config(second, train_cfg__max_epochs=2, **resumed, **settings))
    assert not any(group['fused'] for group in runner.optim_wrapper.optimizer.param_groups)
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, CheckpointHook)]
    hook.after_val_epoch(runner, dict(accuracy=0.5, recall=0.5))
    assert 'best_accuracy_epoch_1.pth' in names(first) and 'best_accuracy_epoch_2.pth' in names(second)
    with pytest.raises(UserError, match='leave out_dir and filename_tmpl out'):
        CheckpointHook(out_dir=str(tmp_path))
