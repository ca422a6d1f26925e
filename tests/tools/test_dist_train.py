"""The same run from several processes, several machines, and sharded."""

import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from tools.command import start_script, stop

DIGITS = 'configs/patchmix/vit-xs4_digits.py'
OPTIONS = (
    '--no-validate', '--cfg-options',
    'train_dataloader.dataset.dataset.indices=64', 'train_dataloader.batch_size=16', 'train_dataloader.num_workers=0',
    'model.backbone.arch.num_layers=1', 'train_cfg.max_epochs=2', 'default_hooks.logger.interval=1',
)  # fmt: skip
SHARDED = ('model_wrapper_cfg.type=MMFullyShardedDataParallel', "activation_checkpointing=['backbone.layers']")

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
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work dir of a sharded run that also saves memory in the other way."""
    work_dir = tmp_path_factory.mktemp('sharded')
    (output,) = outputs(start_machine(29622, 2, work_dir, *SHARDED))
    assert 'activations are computed twice instead of kept' in output
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


@pytest.mark.parametrize('options', [SHARDED, ()], ids=['sharded', 'replicated'])
def test_a_sharded_run_is_resumed(tmp_path: Path, sharded: Path, options: tuple[str, ...]) -> None:
    where = ['resume=True', f'load_from={sharded / "epoch_1.pth"}']
    (output,) = outputs(start_machine(29624, 2, tmp_path, *options, *where))
    assert 'resumed epoch: 1, iter: 2' in output
    assert_same_run(checkpoint(tmp_path), checkpoint(sharded))
