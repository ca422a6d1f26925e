"""Files are whole or absent, also after a kill or on a full disk."""

import errno
import hashlib
import os
import random
import signal
import time
from functools import partial
from pathlib import Path

import pytest
import torch
from weights.damage import checksum, damaged

from mixcl.errors import UserError
from mixcl.files import UNFINISHED, WholeFileBackend, is_whole, matches_checksum, write_with_checksum
from mixcl.weights.checkpoint import load_from_file, position_and_time


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Write a checkpoint with its checksum."""
    torch.save(dict(weight=torch.arange(1000.0)), tmp_path / 'plain')
    path = tmp_path / 'folder/epoch_1.pth'
    write_with_checksum(path, (tmp_path / 'plain').read_bytes())
    return path


def test_the_checksum_is_what_sha256sum_writes_and_goes_with_the_file(path: Path) -> None:
    assert checksum(path).read_text() == f'{hashlib.sha256(path.read_bytes()).hexdigest()}  epoch_1.pth\n'
    assert sorted(path.parent.iterdir()) == [path, checksum(path)]
    assert matches_checksum(path) is True and is_whole(path)
    WholeFileBackend().remove(path)
    assert not list(path.parent.iterdir())


def test_damage_within_an_archive_is_seen_without_a_checksum(path: Path) -> None:
    for content in ('', 'no checksum at all', 'abc  epoch_1.pth'):
        checksum(path).write_text(content)
        assert matches_checksum(path) is None and is_whole(path)
    path.write_bytes(damaged(path.read_bytes(), 'zeros_in_the_middle'))
    torch.load(path, weights_only=True)  # torch does not notice
    assert not is_whole(path)


def test_a_full_disk_leaves_the_old_file(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = path.read_bytes()

    def full(descriptor: int) -> None:
        raise OSError(errno.ENOSPC, 'No space left on device')

    monkeypatch.setattr(os, 'fsync', full)
    with pytest.raises(OSError, match=r'No space left .*epoch_1\.pth'):
        write_with_checksum(path, b'new')
    assert path.read_bytes() == before and is_whole(path)
    assert not list(path.parent.glob(f'*{UNFINISHED}'))


def test_a_killed_writer_leaves_the_old_or_the_new_file(tmp_path: Path) -> None:
    path, moments = tmp_path / 'epoch_1.pth', random.Random(0)
    contents = [bytes([number]) * 2_000_000 for number in range(4)]
    write_with_checksum(path, contents[0])
    unfinished = 0
    for _ in range(20):
        writer = os.fork()
        if writer == 0:
            while True:
                for content in contents:
                    write_with_checksum(path, content)
        time.sleep(moments.uniform(0.005, 0.05))
        os.kill(writer, signal.SIGKILL)
        os.waitpid(writer, 0)
        unfinished += any(tmp_path.glob(f'*{UNFINISHED}'))
        assert is_whole(path), 'a new file never stands beside the checksum of the old'
        assert path.read_bytes() in contents
    assert unfinished > 0, 'some kills came within a write'


def test_a_pipe_is_no_checkpoint(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / 'epoch_1.pth')
    assert not is_whole(tmp_path / 'epoch_1.pth')
    for read in (partial(position_and_time, in_epochs=True), load_from_file):
        with pytest.raises(UserError, match=r'no checkpoint file|cannot be read as the checkpoint of a run'):
            read(tmp_path / 'epoch_1.pth')
