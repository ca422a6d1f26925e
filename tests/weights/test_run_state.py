"""What a run stores to be continued, and which checkpoint it continues from."""

import io
import os
import shutil
from pathlib import Path

import pytest
import torch
from weights.damage import checksum, damaged

from mixcl.errors import UserError
from mixcl.files import write_with_checksum
from mixcl.weights import check_resumable, newest_checkpoint


def write(folder: Path, name: str, step: int, written: float, **meta: int) -> None:
    buffer = io.BytesIO()
    torch.save(dict(meta=dict(meta, iter=step, written=written), state_dict=dict(weight=torch.arange(1000.0))), buffer)
    write_with_checksum(folder / name, buffer.getvalue())


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write three checkpoints, one within an epoch."""
    folder = tmp_path / 'run'
    write(folder, 'epoch_9.pth', 90, 100.0)
    write(folder, 'epoch_10.pth', 100, 110.0)
    write(folder, 'epoch_10_iter_104.pth', 104, 115.5)
    return folder


def assert_newest(folder: Path, name: str) -> None:
    assert newest_checkpoint(folder) == str(folder / name)


def test_damaged_files_are_passed_over(folder: Path, capsys: pytest.CaptureFixture) -> None:
    newest = folder / 'epoch_10_iter_104.pth'
    for how in ('zeros_in_the_middle', 'truncated'):
        newest.write_bytes(damaged(newest.read_bytes(), how))
        assert_newest(folder, 'epoch_10.pth')
        (warning,) = capsys.readouterr().out.splitlines()
        assert 'epoch_10_iter_104.pth' in warning and 'an older checkpoint is taken' in warning
    checksum(folder / 'epoch_10.pth').write_text('0' * 64)
    assert_newest(folder, 'epoch_9.pth')
    (folder / 'epoch_9.pth').write_bytes(b'')
    with pytest.raises(UserError, match=r'none of the 3 checkpoint\(s\) in .*run can be read; remove them'):
        newest_checkpoint(folder)


def test_weights_alone_cannot_be_resumed() -> None:
    message = r'some\.pth holds weights but no state of a run \(meta, optimizer, message_hub missing\)'
    with pytest.raises(UserError, match=message):
        check_resumable(dict(state_dict=dict(weight=torch.zeros(1))), 'some.pth')


def test_the_newest_is_of_the_latest_step_whatever_clocks_and_names_say(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / 'copied'
    shutil.copytree(folder, copied)
    os.utime(copied / 'epoch_9.pth')
    assert_newest(copied, 'epoch_10_iter_104.pth')
    write(folder, 'epoch_10.pth', 100, 130.0)  # by a machine whose clock is ahead
    assert_newest(folder, 'epoch_10_iter_104.pth')
    write(folder, 'epoch_1.pth', 104, 131.0)  # a copy under another name, written again
    assert_newest(folder, 'epoch_1.pth')


def test_the_newest_of_a_run_that_went_on_with_another_batch(tmp_path: Path) -> None:
    write(tmp_path, 'epoch_3_iter_20.pth', 20, 1.0, steps_per_epoch=5)
    write(tmp_path, 'epoch_4_iter_10.pth', 10, 2.0, steps_per_epoch=2)
    assert_newest(tmp_path, 'epoch_4_iter_10.pth')
    write(tmp_path / 'old', 'epoch_5.pth', 50, 1.0, epoch=5)  # from a version that recorded no steps per epoch
    write(tmp_path / 'old', 'epoch_6.pth', 60, 2.0, epoch=6, steps_per_epoch=10)
    assert_newest(tmp_path / 'old', 'epoch_6.pth')
    write(tmp_path / 'steps', 'iter_1000.pth', 1000, 1.0, steps_per_epoch=100)
    write(tmp_path / 'steps', 'iter_1100.pth', 1100, 2.0, steps_per_epoch=200)
    assert_newest(tmp_path / 'steps', 'iter_1100.pth')


def test_without_checkpoints_the_run_starts(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert newest_checkpoint(tmp_path) is None and 'there is no checkpoint in' in capsys.readouterr().out
