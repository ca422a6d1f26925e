"""Two runs never share a folder."""

import errno
import multiprocessing
import os
import time
from contextlib import suppress
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest
from engine.tiny_runs import run_config, trained
from mmengine.config import Config

from mixcl.engine.hooks.run_lock import LOCK, RunLock
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.work_dir import check_unused
from mixcl.errors import UserError
from mixcl.shipped import default_work_dir


def test_default_work_dirs_of_all_configs_differ() -> None:
    configs = [path for path in Path('configs').rglob('*.py') if '_base_' not in path.parts]
    folders = {default_work_dir(path) for path in configs}
    assert len(folders) == len(configs) > 100
    assert default_work_dir('configs/mocov3/vit-xs4_digits.py') == 'work_dirs/mocov3/vit-xs4_digits'
    assert default_work_dir('mine/first.py', '_smoke') == 'work_dirs/mine/first_smoke'
    assert default_work_dir('/config.py') == 'work_dirs/config'


FORK = multiprocessing.get_context('fork')
"""Context of forked processes, which need not import anything; a lock belongs to a process."""


def refusal(folder: Path) -> str:
    try:
        RunLock(folder).acquire()
    except UserError as error:
        return str(error)
    return ''


def is_held(folder: Path) -> bool:
    """Whether another process finds the folder in use."""
    with FORK.Pool(1) as process:
        found = process.apply(refusal, [folder])
    assert not found or 'is in use by' in found, found
    return bool(found)


def hold(folder: Path, held: Event) -> None:
    RunLock(folder).acquire()
    held.set()
    time.sleep(100)


def test_a_living_process_keeps_others_out_and_a_killed_one_does_not(tmp_path: Path) -> None:
    held = FORK.Event()
    process = FORK.Process(target=hold, args=(tmp_path, held))
    process.start()
    assert held.wait(60)
    with pytest.raises(UserError, match=rf'in use by a run of process {process.pid} on .*, or choose another'):
        RunLock(tmp_path).acquire()
    process.kill()
    process.join()
    lock = RunLock(tmp_path)
    lock.acquire()
    lock.release()
    RunLock(tmp_path).acquire()


def test_checkpoints_of_another_run_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, newest = tmp_path / 'run', tmp_path / 'run/epoch_2.pth'

    def check(overwrite: bool = False, **settings: object) -> None:
        check_unused(Config(dict(work_dir=str(folder), **settings)), overwrite)

    check()
    folder.mkdir()
    newest.touch()
    for settings in (dict(), dict(resume=True, load_from=str(tmp_path / 'other/epoch_1.pth'))):
        with pytest.raises(UserError, match=r'epoch_2.pth.*`resume`.*another folder.*`overwrite`'):
            check(**settings)
    check(resume=True)
    check(resume=True, load_from=str(newest))
    check(overwrite=True)
    monkeypatch.setenv('HOME', str(tmp_path))
    check(resume=True, load_from='~/run/epoch_2.pth')
    start = dict(type='PretrainedBackboneHook', checkpoint=str(folder))
    for settings in (*({'load_from': file} for file in (str(newest), '~/run/epoch_2.pth')), dict(custom_hooks=[start])):
        with pytest.raises(UserError, match=r'`overwrite` removes .* starts from'):
            check(overwrite=True, **settings)
    with pytest.raises(UserError, match=r'`overwrite` removes .* starts from .*epoch_2\.pth'):
        check(overwrite=True, resume=True)


def enter_often(folder: Path) -> int:
    """Return how often this process held the folder; fail if another one held it at the same time."""
    entered = 0
    for _ in range(200):
        lock = RunLock(folder)
        with suppress(UserError):
            lock.acquire()
            (folder / 'inside').touch(exist_ok=False)
            (folder / 'inside').unlink()
            lock.release()
            entered += 1
    return entered


def test_of_many_that_come_and_go_one_at_a_time_has_the_folder(tmp_path: Path) -> None:
    with FORK.Pool(4) as processes:
        entered = processes.map(enter_often, [tmp_path] * 4, chunksize=1)
    assert sum(entered) > 10
    assert os.listdir(tmp_path) == [LOCK]


def test_a_run_holds_its_folder_and_overwrites_when_told(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path / 'run'))
    assert is_held(tmp_path / 'run')
    runner.train()
    assert not is_held(tmp_path / 'run')
    (tmp_path / 'run/epoch_9.pth').touch()
    with pytest.raises(UserError, match='3 checkpoint'):
        trained(run_config(tmp_path / 'run'))
    build_runner(run_config(tmp_path / 'run'), overwrite=True).train()
    assert sorted(path.name for path in tmp_path.glob('run/*.pth')) == ['epoch_1.pth', 'epoch_2.pth']


def test_a_start_that_fails_lets_others_in(tmp_path: Path) -> None:
    with pytest.raises(UserError):
        build_runner(run_config(tmp_path, optim_wrapper__optimizer__lr=-1.0))
    assert not is_held(tmp_path)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'file').touch()
    with pytest.raises(UserError, match=r'the work dir .*file cannot be used \(.*File exists.*choose another one'):
        RunLock(tmp_path / 'file').acquire()

    def refuse(*_: object, **__: object) -> None:  # permissions do not count for root
        raise PermissionError(errno.EACCES, 'Permission denied')

    monkeypatch.setattr(os, 'open', refuse)
    with pytest.raises(UserError, match=r'other cannot be used .*Permission denied.*; choose another'):
        RunLock(tmp_path / 'other').acquire()
