"""The same run from several processes, several machines, and sharded."""

import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from tools.command import error_lines, start_script, stop
from tools.test_stop_command import wait_for_steps

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
OPTIONS = (
    '--no-validate', '--cfg-options',
    'train_dataloader.dataset.dataset.indices=64', 'train_dataloader.batch_size=16', 'train_dataloader.num_workers=0',
    'model.backbone.arch.num_layers=1', 'train_cfg.max_epochs=2', 'default_hooks.logger.interval=1',
)  # fmt: skip
SHARDED = 'model_wrapper_cfg.type=MMFullyShardedDataParallel'

pytestmark = pytest.mark.long


def start_machine(port: int, processes: int, work_dir: Path, *options: object, **variables: object) -> subprocess.Popen:
    """``tools/dist_train.sh`` as it is called on one machine."""
    words = (DIGITS, processes, '--work-dir', work_dir, *OPTIONS, *options)
    return start_script('tools/dist_train.sh', *words, PORT=port, **variables)


def outputs(*machines: subprocess.Popen) -> list[str]:
    """What the machines wrote, once all have succeeded."""
    try:
        with ThreadPoolExecutor() as readers:  # a machine that cannot write would keep the others waiting
            written = list(readers.map(lambda machine: machine.communicate(timeout=110)[0], machines))
    finally:
        for machine in machines:
            stop(machine)
    assert [machine.returncode for machine in machines] == [0] * len(machines), '\n'.join(written)[-4000:]
    return written


def checkpoint(work_dir: Path, name: str = 'epoch_2.pth') -> dict:
    return torch.load(work_dir / name, weights_only=True)


def assert_same_run(first: dict, second: dict) -> None:
    """The whole weights and states of the optimiser."""
    for part in ('state_dict', 'optimizer'):
        torch.testing.assert_close(first[part], second[part], rtol=0, atol=0)


@pytest.fixture(scope='module')
def replicated(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work dir of two processes on one machine."""
    work_dir = tmp_path_factory.mktemp('replicated')
    outputs(start_machine(29621, 2, work_dir))
    return work_dir


@pytest.fixture(scope='module')
def sharded(tmp_path_factory: pytest.TempPathFactory, replicated: Path) -> Path:
    """The second of its epochs is that of the replicated run, sharded."""
    work_dir = tmp_path_factory.mktemp('sharded')
    outputs(start_machine(29622, 2, work_dir, SHARDED, 'resume=True', f'load_from={replicated / "epoch_1.pth"}'))
    return work_dir


def test_two_machines_are_two_processes(tmp_path: Path, replicated: Path) -> None:
    machines = [
        start_machine(29623, 1, tmp_path, NNODES=2, NODE_RANK=rank, MASTER_ADDR='127.0.0.1') for rank in range(2)
    ]
    first, second = outputs(*machines)
    assert 'global batch 32: 16 images on each of 2 process(es)' in first
    assert 'global batch' not in second  # only the first process of all speaks
    assert_same_run(checkpoint(tmp_path), checkpoint(replicated))


def test_a_sharded_run_writes_the_checkpoint_of_a_replicated_one(sharded: Path, replicated: Path) -> None:
    assert_same_run(checkpoint(sharded), checkpoint(replicated))
    assert checkpoint(sharded)['meta']['iter'] == 4


def test_a_replicated_run_goes_on_from_a_sharded_one(tmp_path: Path, sharded: Path, replicated: Path) -> None:
    """For a third epoch, as from the file of a replicated one."""
    ends = []
    for name, start in (('a', sharded), ('b', replicated)):
        where = ['resume=True', f'load_from={start / "epoch_2.pth"}', 'train_cfg.max_epochs=3']
        outputs(start_machine(29624, 2, tmp_path / name, *where))
        ends.append(checkpoint(tmp_path / name, 'epoch_3.pth'))
    assert_same_run(*ends)


def test_all_switches_together(tmp_path: Path, replicated: Path) -> None:
    weights = f'load_from={replicated / "epoch_1.pth"}'  # since both would be initialised by other random numbers
    switches = [SHARDED, 'optim_wrapper.accumulative_counts=2', "activation_checkpointing=['backbone.layers']"]
    (output,) = outputs(start_machine(29625, 2, tmp_path / 'sharded', *switches, weights))
    assert 'gradients of 2 batches are accumulated per step, negatives come from one batch at a time' in output
    assert 'activations are computed twice instead of kept' in output
    outputs(start_machine(29625, 2, tmp_path / 'replicated', switches[1], weights))
    # Sharded gradients are averaged over the processes before they are accumulated: another order of the sum. Weights
    # whose gradient is nothing but rounding tell nothing then, as AdamW makes full steps of it.
    states = [checkpoint(tmp_path / kind)['optimizer']['state'].values() for kind in ('sharded', 'replicated')]
    sharded, replicated = ([state['exp_avg'] for state in part] for part in states)
    torch.testing.assert_close(sharded, replicated, rtol=1e-3, atol=1e-6)
    assert max(mean.abs().max() for mean in sharded) > 1e-3


def test_a_killed_process_is_told_in_two_sentences(tmp_path: Path) -> None:
    """What the others say, and what the launcher says of it."""
    machine = start_machine(29626, 2, tmp_path, 'train_cfg.max_epochs=500')
    try:
        wait_for_steps(machine, tmp_path)
        workers = subprocess.run(
            ['pgrep', '-f', f'train.py .*{tmp_path}'], capture_output=True, text=True
        ).stdout.split()
        (second,) = [pid for pid in map(int, workers) if b'\0RANK=1\0' in Path(f'/proc/{pid}/environ').read_bytes()]
        os.kill(second, signal.SIGKILL)
        output, errors = machine.communicate(timeout=60)
    finally:
        stop(machine)
    lines = error_lines(output + (errors or ''))
    assert [line.split(' of ')[0] for line in lines] == ['error: another process', 'error: process 1']
    assert 'SIGKILL, most likely by the system because memory ran out' in lines[1]
    assert 'Traceback' not in output + (errors or '') and machine.returncode == 1
