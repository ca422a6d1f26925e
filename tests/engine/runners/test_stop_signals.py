"""A run that is told to stop finishes the step and saves; the resumed run equals an uninterrupted one."""

import multiprocessing
import os
import signal
from pathlib import Path

import pytest
from engine.runners.test_exact_resume import assert_same
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.stop_signals import StopSignals
from mixcl.errors import RunStopped
from mixcl.starting import STOP_SIGNALS

MIDDLE = STEPS_PER_EPOCH + 2


class Send(Hook):
    """A hook that sends signals to this process after a step."""

    def __init__(self, *numbers: signal.Signals, step: int = MIDDLE) -> None:
        self.numbers = numbers
        self.step = step

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        if runner.iter + 1 == self.step:
            for number in self.numbers:
                os.kill(os.getpid(), number)


class SendToWorkers(Hook):
    """A hook that sends every stop signal to the data workers, as a batch system may."""

    def __init__(self) -> None:
        self.workers: set[int] = set()
        self.others = {process.pid for process in multiprocessing.active_children()}

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        for worker in multiprocessing.active_children():
            if worker.pid in self.others:
                continue
            self.workers.add(worker.pid)
            send_all(worker.pid)


def send_all(process: int) -> None:
    for number in STOP_SIGNALS:
        # Not from this process: its SIGTERM tells workers to end.
        os.system(f'kill -{int(number)} {process}')


def send_to_myself() -> None:
    send_all(os.getpid())


def stopped(folder: Path, hook: Hook, **overrides: object) -> RunStopped:
    runner = build_runner(run_config(folder, **overrides))
    runner.register_hook(hook)
    with pytest.raises(RunStopped) as raised:
        runner.train()
    return raised.value


@pytest.fixture(scope='module')
def straight(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    return trained(run_config(tmp_path_factory.mktemp('straight')))


@pytest.mark.parametrize('number', [signal.SIGINT, signal.SIGUSR1])
def test_a_stopped_run_continues_at_the_next_step(tmp_path: Path, straight: Runner, number: signal.Signals) -> None:
    handlers = [signal.getsignal(each) for each in STOP_SIGNALS]
    stop = stopped(tmp_path, Send(number))
    saved = tmp_path / f'epoch_1_iter_{MIDDLE}.pth'
    assert str(stop).startswith(f'stopped by {number.name} after step {MIDDLE} of 10: everything is saved in {saved}')
    assert stop.exit_status == 85
    assert [signal.getsignal(each) for each in STOP_SIGNALS] == handlers
    resumed = trained(run_config(tmp_path, resume=True))
    assert_same(straight, resumed)
    assert {path.name for path in tmp_path.glob('*.pth')} == {saved.name, 'epoch_2.pth'}, 'two are kept'


@pytest.mark.parametrize('step', [STEPS_PER_EPOCH, 2 * STEPS_PER_EPOCH])
def test_a_run_stopped_at_the_end_of_an_epoch_finishes_it_later(tmp_path: Path, straight: Runner, step: int) -> None:
    stopped(tmp_path, Send(signal.SIGTERM, step=step))
    assert_same(straight, trained(run_config(tmp_path, resume=True)))
    assert (tmp_path / 'epoch_2.pth').exists()


def test_a_second_ctrl_c_ends_at_once(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path))
    runner.register_hook(Send(signal.SIGINT, signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        runner.train()
    assert not list(tmp_path.glob('*_iter_*.pth'))


def test_accumulated_gradients_are_used_before_the_run_stops(tmp_path: Path) -> None:
    accumulated = dict(optim_wrapper__accumulative_counts=3)
    straight = trained(run_config(tmp_path / 'straight', **accumulated))
    stop = stopped(tmp_path / 'stopped', Send(signal.SIGTERM), **accumulated)
    assert 'after step 9 of 10' in str(stop)
    assert_same(straight, trained(run_config(tmp_path / 'stopped', resume=True, **accumulated)))


def test_the_time_limit_stops_like_a_signal(tmp_path: Path, straight: Runner) -> None:
    with pytest.raises(RunStopped, match='stopped by the time limit after step 0 of 10'):
        trained(run_config(tmp_path, train_cfg__max_seconds=0))
    assert_same(straight, trained(run_config(tmp_path, resume=True, train_cfg__max_seconds=3600)))


def test_workers_outlive_signals_not_the_run(tmp_path: Path, straight: Runner, monkeypatch: pytest.MonkeyPatch) -> None:
    # This is the first thing that a worker does, before any code of ours.
    monkeypatch.setattr('torch.utils.data._utils.signal_handling._set_worker_signal_handlers', send_to_myself)
    runner, send = build_runner(run_config(tmp_path, train_dataloader__num_workers=2)), SendToWorkers()
    runner.register_hook(send)
    runner.train()
    assert_same(straight, runner)
    assert len(send.workers) == 4, 'two in each epoch'
    runner.train_loop.dataloader._iterator = None
    assert not send.workers & {worker.pid for worker in multiprocessing.active_children()}


def test_a_run_under_nohup_outlives_its_terminal() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with StopSignals() as signals:
            os.kill(os.getpid(), signal.SIGHUP)
        assert signals.received is None
    finally:
        signal.signal(signal.SIGHUP, before)


def test_forked_processes_end_by_sigterm_whatever_they_wait_for() -> None:
    """Pools end their processes like this and wait for them; mmdet's VOC metric starts a pool in validation."""
    lock = multiprocessing.get_context('fork').Lock()
    lock.acquire()
    with StopSignals() as signals:
        for _ in range(20):  # some get the signal before they wait
            child = os.fork()
            if not child:
                lock.acquire()
            os.kill(child, signal.SIGTERM)
            assert os.WTERMSIG(os.waitpid(child, 0)[1]) == signal.SIGTERM
        assert signals.received is None
        os.kill(os.getpid(), signal.SIGTERM)
        assert signals.received == 'SIGTERM'
