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


def write(folder: Path, name: str, step: int, written: float) -> Path:
    buffer = io.BytesIO()
    torch.save(dict(meta=dict(iter=step, written=written), state_dict=dict(weight=torch.arange(1000.0))), buffer)
    write_with_checksum(folder / name, buffer.getvalue())
    return folder / name


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Three checkpoints, one within an epoch."""
    folder = tmp_path / 'run'
    write(folder, 'epoch_9.pth', 90, 100.0)
    write(folder, 'epoch_10.pth', 100, 110.0)
    write(folder, 'epoch_10_iter_104.pth', 104, 115.5)
    (folder / 'last_checkpoint').write_text(str(folder / 'epoch_10_iter_104.pth'))
    return folder


def assert_newest(folder: Path, name: str) -> None:
    assert newest_checkpoint(folder) == str(folder / name)


@pytest.mark.parametrize('how', ['truncated', 'empty', 'zeros_at_the_end', 'zeros_in_the_middle'])
@pytest.mark.parametrize('with_checksum', [True, False])
def test_a_damaged_file_is_named_and_passed_over(
    folder: Path, how: str, with_checksum: bool, capsys: pytest.CaptureFixture
) -> None:
    newest = folder / 'epoch_10_iter_104.pth'
    newest.write_bytes(damaged(newest.read_bytes(), how))
    if not with_checksum:
        checksum(newest).unlink()
    assert_newest(folder, 'epoch_10.pth')
    (warning,) = capsys.readouterr().out.splitlines()
    assert 'epoch_10_iter_104.pth' in warning and 'the run continues from an older checkpoint' in warning


def test_a_wrong_checksum_is_damage(folder: Path) -> None:
    newest = folder / 'epoch_10_iter_104.pth'
    checksum(newest).write_text('0' * 64 + '  epoch_10_iter_104.pth\n')
    assert_newest(folder, 'epoch_10.pth')
    checksum(folder / 'epoch_10.pth').write_text('0' * 64)
    assert_newest(folder, 'epoch_9.pth')


def test_if_all_are_damaged_nothing_is_started_anew(folder: Path) -> None:
    for path in folder.glob('*.pth'):
        path.write_bytes(b'')
    with pytest.raises(UserError, match=r'none of the 3 checkpoint\(s\) in .*run can be read; remove them'):
        newest_checkpoint(folder)


def test_weights_alone_cannot_be_resumed() -> None:
    message = r'some\.pth holds weights but no state of a run \(meta, optimizer, message_hub missing\)'
    with pytest.raises(UserError, match=message):
        check_resumable(dict(state_dict=dict(weight=torch.zeros(1))), 'some.pth')


def test_a_moved_folder_and_other_file_times_change_nothing(folder: Path, tmp_path: Path) -> None:
    copied = tmp_path / 'copied'
    shutil.copytree(folder, copied)
    os.utime(copied / 'epoch_9.pth')
    assert_newest(copied, 'epoch_10_iter_104.pth')
    shutil.rmtree(folder)
    assert_newest(copied, 'epoch_10_iter_104.pth')


def test_a_file_that_the_run_had_no_time_to_note_counts(folder: Path) -> None:
    write(folder, 'epoch_11.pth', 110, 120.0)
    assert_newest(folder, 'epoch_11.pth')


def test_a_run_that_went_back_continues_where_it_went_on(folder: Path) -> None:
    """Resumed by hand from epoch 9, with another learning rate: epoch 10 was written again, later."""
    write(folder, 'epoch_10.pth', 100, 130.0)
    assert_newest(folder, 'epoch_10.pth')


def test_without_checkpoints_the_run_starts(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    assert newest_checkpoint(tmp_path) is None
    (tmp_path / 'last_checkpoint').write_text('')
    assert newest_checkpoint(tmp_path) is None
    assert capsys.readouterr().out.count('there is no checkpoint in') == 2
