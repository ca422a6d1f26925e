"""Files are whole or absent, also after a kill or on a full disk."""

import errno
import fcntl
import hashlib
import multiprocessing
import os
import random
import secrets
import signal
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from unittest.mock import Mock

import pytest
import torch
from weights.damage import checksum, damaged

from mixcl.files import (
    UNFINISHED,
    WholeFileBackend,
    folder_written_whole,
    is_whole,
    locked,
    matches_checksum,
    write_with_checksum,
    written_whole,
)

FORK = multiprocessing.get_context('fork')


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
        for left in tmp_path.glob(f'*{UNFINISHED}'):
            os.utime(left, (0, 0))
        assert is_whole(path), 'a new file never stands beside the checksum of the old'
        assert path.read_bytes() in contents
    assert unfinished > 0, 'some kills came within a write'
    write_with_checksum(path, b'last')
    assert sorted(tmp_path.iterdir()) == [path, checksum(path)], 'what killed writers left is removed'


def in_processes(work: Callable[[int], object], number: int = 4) -> list[int]:
    """Call ``work`` in forked processes, with their numbers; return their exit codes."""
    processes = [FORK.Process(target=work, args=(process,)) for process in range(number)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    return [process.exitcode for process in processes]


def test_writers_of_one_name_do_not_meet(tmp_path: Path) -> None:
    """Each has a file of its own, and the last has its way; unfinished ones of living writers stay, however old."""
    path = tmp_path / 'a[1].json'

    def write(process: int) -> None:
        for _ in range(40):
            with written_whole(path, on_disk=False) as file:
                file.write(bytes([process]) * 100_000)
                os.utime(file.fileno(), (0, 0))

    assert in_processes(write) == [0] * 4
    assert path.read_bytes() in [bytes([process]) * 100_000 for process in range(4)]
    assert os.listdir(tmp_path) == [path.name]


def test_folders_written_at_the_same_time_and_those_of_killed_writers(tmp_path: Path) -> None:
    for left, age in (('out.00000000.part', 0), ('out.00000001.part', time.time()), ('out.mine.part', 0)):
        (tmp_path / left).mkdir()
        (tmp_path / left / 'half').touch()
        os.utime(tmp_path / left, (age, age))
    with folder_written_whole(tmp_path / 'out') as first:
        os.utime(first, (0, 0))
        (first / 'a').touch()
        with pytest.raises(ZeroDivisionError), folder_written_whole(tmp_path / 'out') as second:
            assert second != first
            raise ZeroDivisionError
    assert [file.name for file in (tmp_path / 'out').iterdir()] == ['a']
    assert {path.name for path in tmp_path.iterdir()} == {'out', 'out.00000001.part', 'out.mine.part'}


def test_no_link_is_followed_when_a_file_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside, path = tmp_path / 'outside', tmp_path / 'folder/a'
    outside.write_text('precious')
    path.parent.mkdir()
    monkeypatch.setattr(secrets, 'token_hex', lambda number: '0' * 2 * number)
    for link in (path, path.with_name(f'a{UNFINISHED}'), path.with_name(f'a.00000000{UNFINISHED}')):
        link.symlink_to(outside)
    with pytest.raises(FileExistsError), written_whole(path):
        pass
    monkeypatch.undo()
    with written_whole(path) as file:
        file.write(b'new')
    assert path.read_bytes() == b'new' and not path.is_symlink() and outside.read_text() == 'precious'


def test_a_file_may_lie_in_a_linked_folder(tmp_path: Path) -> None:
    (tmp_path / 'disk').mkdir()
    (tmp_path / 'runs').symlink_to(tmp_path / 'disk')
    write_with_checksum(tmp_path / 'runs/a', b'new')
    assert is_whole(tmp_path / 'disk/a')


def test_one_process_or_thread_at_a_time_changes_a_locked_file(tmp_path: Path) -> None:
    path = tmp_path / 'folder/number'

    def count(_: int) -> None:
        for _ in range(20):
            with locked(path) as failure:
                assert failure is None
                number = int(path.read_text()) if path.exists() else 0
                time.sleep(0.001)
                path.write_text(str(number + 1))

    assert in_processes(count) == [0] * 4
    with ThreadPoolExecutor(4) as threads:
        list(threads.map(count, range(4)))
    assert int(path.read_text()) == 160


@pytest.mark.parametrize('kind', ['symlink_to', 'hardlink_to', 'pipe', 'no locks'])
def test_a_lock_that_cannot_be_taken_is_left_alone(kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    outside, lock = tmp_path / 'outside', tmp_path / 'a.lock'
    outside.write_text('precious')
    if kind == 'pipe':
        os.mkfifo(lock)
    elif kind == 'no locks':
        monkeypatch.setattr(fcntl, 'flock', Mock(side_effect=OSError(errno.ENOLCK, 'No locks available')))
    else:
        getattr(lock, kind)(outside)
    with locked(tmp_path / 'a') as failure:
        assert isinstance(failure, OSError)
    with written_whole(tmp_path / 'a') as file:
        file.write(b'new')
    assert (tmp_path / 'a').read_bytes() == b'new' and outside.read_text() == 'precious'
