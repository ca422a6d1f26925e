"""Data workers: no more than have work, and one that stands still ends its run."""

import multiprocessing
import os
import signal
import threading
import time
import warnings
from pathlib import Path

import pytest
from engine.runners.test_exact_resume import assert_same
from engine.tiny_runs import run_config, trained
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.utils.data import Dataset

from mixcl.engine.runners import data_workers
from mixcl.engine.runners.data_workers import NoBatch
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.quiet_runner import QuietRunner
from mixcl.errors import RunStopped


class Images(Dataset):
    """Eight images, the last of which takes its worker three seconds or for ever, or does not arrive."""

    def __init__(self, last: str = '') -> None:
        self.last = last

    def __len__(self) -> int:
        return 8

    def __getitem__(self, index: int) -> int:
        end = time.monotonic() + 3
        while index == 7 and self.last == 'slow' and time.monotonic() < end:
            pass
        if index == 7 and self.last == 'lost':  # such as without free file handles
            return lambda: None
        if index == 7 and self.last == 'stuck':
            os.kill(os.getpid(), signal.SIGSTOP)
        return index


def load(last: str = '', workers: int = 1) -> list[int]:
    collated = dict(type='pseudo_collate' if last == 'lost' else 'default_collate')
    settings = dict(batch_size=2, num_workers=workers, sampler=dict(type='DefaultSampler'), collate_fn=collated)
    loader = QuietRunner.build_dataloader(dict(dataset=Images(last), **settings))
    before = len(multiprocessing.active_children())
    batches = iter(loader)
    assert len(multiprocessing.active_children()) - before == loader.num_workers
    return [len(list(batches)), loader.num_workers]


@pytest.mark.parametrize(('cores', 'wanted', 'workers'), [(64, 8, 4), (3, 8, 3), (64, 1, 1), (3, 0, 0)])
def test_at_most_a_worker_a_batch_and_core(
    cores: int, wanted: int, workers: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, 'sched_getaffinity', lambda _: set(range(cores)))
    with warnings.catch_warnings():
        warnings.simplefilter('error')  # torch's, about too many workers
        assert load(workers=wanted) == [4, workers]


def test_a_worker_that_stands_still_is_told_and_killed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(data_workers, 'STILL', 2)
    before = multiprocessing.active_children()
    assert load('slow') == [4, 1], 'one that works is waited for'
    for last in ('stuck', 'lost'):
        with pytest.raises(NoBatch, match=r'process 0 .* no batch of its 8 images .* \(processes \d+\) stands still'):
            load(last)
    assert set(multiprocessing.active_children()) <= set(before)


class Stick(Hook):
    """A hook that stops the data worker, as stuck storage does, and later asks the run to end."""

    def __init__(self) -> None:
        self.others = {process.pid for process in multiprocessing.active_children()}

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        if runner.iter == 0:
            for worker in multiprocessing.active_children():
                if worker.pid not in self.others:
                    os.kill(worker.pid, signal.SIGSTOP)
            threading.Timer(1, os.kill, (os.getpid(), signal.SIGTERM)).start()


def test_a_run_that_waits_for_stuck_storage_saves_if_told_to_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(data_workers, 'STILL_IN_STOP', 2)
    loading = dict(train_dataloader__num_workers=1, train_dataloader__prefetch_factor=1)
    runner = build_runner(run_config(tmp_path / 'stuck', **loading))
    runner.register_hook(Stick())
    with pytest.raises(RunStopped, match=r'stands still: .*; stopped after step \d of 10: everything is saved in '):
        runner.train()
    assert_same(trained(run_config(tmp_path / 'straight')), trained(run_config(tmp_path / 'stuck', resume=True)))
