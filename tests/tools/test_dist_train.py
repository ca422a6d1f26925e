"""Several processes, several machines and sharding give the same run."""

import os
import signal
import subprocess
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from tools.command import error_lines, free_port, start, stop
from tools.test_stop_command import wait_for_steps

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
OPTIONS = (
    '--no-validate', '--cfg-options',
    'train_dataloader.dataset.dataset.indices=64', 'batch=32', 'train_dataloader.num_workers=0',
    'model.backbone.arch.num_layers=1', 'schedule.epochs=2', 'default_hooks.logger.interval=1',
    'default_hooks.checkpoint.interval=1',
)  # fmt: skip

pytestmark = pytest.mark.long


def start_machine(processes: int, work_dir: Path, *options: object, **variables: object) -> subprocess.Popen:
    """Start ``tools/dist_train.sh`` as it is called on one machine."""
    words = (DIGITS, processes, '--work-dir', work_dir, *OPTIONS, *options)
    return start('tools/dist_train.sh', *words, **variables)


def outputs(*machines: subprocess.Popen) -> list[str]:
    """Return what the machines wrote, once all have succeeded."""
    try:
        with ThreadPoolExecutor() as readers:  # a machine that cannot write would keep the others waiting
            written = list(readers.map(lambda machine: machine.communicate(timeout=110), machines))
    finally:
        for machine in machines:
            stop(machine)
    assert [machine.returncode for machine in machines] == [0] * len(machines), str(written)[-4000:]
    return [output for output, _ in written]


def checkpoint(work_dir: Path) -> dict:
    return torch.load(work_dir / 'epoch_2.pth', weights_only=True)


def assert_same_run(first: dict, second: dict) -> None:
    """Check that all weights and optimiser states are equal."""
    for part in ('state_dict', 'optimizer'):
        torch.testing.assert_close(first[part], second[part], rtol=0, atol=0)


@pytest.fixture(scope='module')
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the work dir of two processes on one machine."""
    work_dir = tmp_path_factory.mktemp('replicated')
    outputs(start_machine(2, work_dir))
    return work_dir


def test_two_machines_are_two_processes(tmp_path: Path, replicated: Path) -> None:
    both = dict(NNODES=2, MASTER_ADDR='127.0.0.1', PORT=free_port())
    first, second = outputs(*(start_machine(1, tmp_path, NODE_RANK=rank, **both) for rank in range(2)))
    assert 'global batch 32: 16 images on each of 2 process(es)' in first
    assert 'global batch' not in second  # only the first of all processes prints
    assert_same_run(checkpoint(tmp_path), checkpoint(replicated))


def test_a_sharded_run_continues_a_replicated_one_and_writes_its_checkpoint(tmp_path: Path, replicated: Path) -> None:
    where = ('resume=True', f'load_from={replicated / "epoch_1.pth"}')
    outputs(start_machine(2, tmp_path, 'model_wrapper_cfg.type=MMFullyShardedDataParallel', *where))
    assert_same_run(checkpoint(tmp_path), checkpoint(replicated))
    assert checkpoint(tmp_path)['meta']['iter'] == 4


@pytest.mark.parametrize('number', [signal.SIGUSR1, signal.SIGTERM])
def test_a_signal_to_the_whole_job_saves_it(tmp_path: Path, number: signal.Signals) -> None:
    """sbatch and srun send signals this way."""
    machine = start_machine(2, tmp_path, 'schedule.epochs=500')
    try:
        wait_for_steps(machine, tmp_path)
        os.killpg(machine.pid, number)
        output, errors = machine.communicate(timeout=60)
    finally:
        stop(machine)
    assert machine.returncode == 85, output + errors
    assert any(tmp_path.glob('*.pth'))


@pytest.mark.parametrize('noticed', ['by the other process', 'by the launcher'])
def test_a_killed_process_is_told_in_one_sentence(tmp_path: Path, noticed: str) -> None:
    """The launcher reports it, as it knows the cause; the other process ends quietly, whoever noticed first."""
    machine = start_machine(2, tmp_path, 'schedule.epochs=500')
    try:
        wait_for_steps(machine, tmp_path)
        found = subprocess.run(['pgrep', '-f', f'train.py .*{tmp_path}'], capture_output=True, text=True)
        variables = {int(pid): Path(f'/proc/{pid}/environ').read_bytes() for pid in found.stdout.split()}
        first, second = (next(pid for pid in variables if b'\0RANK=%d\0' % rank in variables[pid]) for rank in range(2))
        if noticed == 'by the launcher':
            os.kill(first, signal.SIGSTOP)
        os.kill(second, signal.SIGKILL)
        if noticed == 'by the launcher':
            time.sleep(2)  # the launcher looks ten times a second
            os.kill(first, signal.SIGCONT)
        output, errors = machine.communicate(timeout=60)
    finally:
        stop(machine)
    (line,) = error_lines(errors)
    assert line.startswith('error: process 1 of ')
    assert 'SIGKILL, most likely by the system because memory ran out' in line
    assert 'Traceback' not in output + errors and machine.returncode == 1
