"""Several processes side by side, and what each of two does in the tests.

This is a module of its own because the processes cannot import test modules.
"""

import os
import pickle
import sys
import tempfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import host_steps
import torch
from engine.tiny_runs import run_config
from mmengine.runner import Runner
from tools.command import start, stop
from torch import Tensor, nn
from watching import WatchingHook

from mixcl.datasets import KeyedSampler
from mixcl.distributed import gather_rows, host_group
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.processes import on_main_process
from mixcl.heads import SyncBatchNorm
from mixcl.ranges import POSITIVE, check_range

NORM_CASES = {
    '(N, C)': dict(shape=(8, 3)),
    '(N, C, H, W)': dict(shape=(8, 3, 2, 4)),
    'cumulative average': dict(shape=(8, 3), momentum=None),
    'without affine parameters': dict(shape=(8, 3), affine=False),
}
"""Shape of the batch of both processes together, and arguments of the layer."""

FIRST_ROWS = 5
"""Number of rows of the first process; the second has the other 3 of 8."""


def run_pair(function: Callable[[int], object], folder: Path) -> list:
    """Return the results of ``function(rank)`` in two processes that are connected through gloo."""
    return run_processes(function, folder, 2)


def run_processes(function: Callable[[int], object], folder: Path, count: int) -> list:
    """Same as :func:`run_pair`, with any number of processes.

    Args:
        function: from a module below ``tests/`` that is no test module: the processes import it by name.
        folder: an empty folder for what they exchange.
        count: number of processes.
    """
    (folder / 'function.pkl').write_bytes(pickle.dumps(function))
    program = "import sys; sys.path.insert(0, 'tests'); import pairs; pairs.join(*sys.argv[1:])"
    processes = [start('-c', program, folder, rank, count) for rank in range(count)]
    try:
        errors = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            stop(process)
    assert [process.returncode for process in processes] == [0] * count, '\n'.join(errors)[-4000:]
    return [torch.load(folder / f'rank{rank}.pth') for rank in range(count)]


def join(folder: str, rank: str, count: str) -> None:
    """Run the function in one of the processes."""
    function = pickle.loads((Path(folder) / 'function.pkl').read_bytes())
    # A process that waits in vain for the other must fail.
    group = dict(init_method=f'file://{folder}/group', timeout=timedelta(seconds=60))
    torch.distributed.init_process_group('gloo', rank=int(rank), world_size=int(count), **group)
    torch.save(function(int(rank)), f'{folder}/rank{rank}.pth')
    torch.distributed.barrier()
    os._exit(0)  # gloo's threads may abort an interpreter that exits normally


FAILURES: dict[str, Callable[[], object]] = {
    'memory': lambda: bytes(2**62),
    'exit': lambda: sys.exit(0),
    'cannot be sent': lambda: lambda: None,
    'foreseen': lambda: check_range('k', POSITIVE, k=-1),
}
"""What the first process does for both, and fails."""


def failed(act: Callable[[], object]) -> tuple[str, str]:
    """Return type and text of the error that this process gets; both go on, so no end of a process tells the other."""
    try:
        on_main_process(act)
    except BaseException as error:
        return type(error).__name__, str(error)
    return 'none', ''


def everything(rank: int) -> dict:
    """Return all that one process of the pair finds, by name."""
    rows = slice(FIRST_ROWS) if rank == 0 else slice(FIRST_ROWS, None)
    return dict(
        norm={name: normalise(SyncBatchNorm, name, rows) for name in NORM_CASES},
        gathered=gathered(rank),
        steps=host_steps.steps(tuple(host_steps.MODELS), rank),
        agreed_seed=KeyedSampler(range(4)).seed,
        run=run(rank),
        failures={name: failed(act) for name, act in FAILURES.items()},
        group=host_group() is host_group(),
    )


def normalise(layer_type: type[nn.Module], case: str, rows: slice) -> dict:
    """Pass two training batches and one in evaluation mode through a layer that sees some of their 8 rows.

    Each output is differentiated for a fixed weighted sum over all rows of both processes.
    """
    arguments = dict(NORM_CASES[case])
    shape = arguments.pop('shape')
    random = torch.Generator().manual_seed(0)
    layer = layer_type(shape[1], **arguments).double()
    for parameter in layer.parameters():
        parameter.data = torch.randn(parameter.shape, generator=random, dtype=torch.float64)
    outputs, gradients = [], []
    for training in (True, True, False):
        x, factors = (torch.randn(shape, generator=random, dtype=torch.float64)[rows] for _ in range(2))
        outputs.append(layer.train(training)(x.requires_grad_()))
        (outputs[-1] * factors).sum().backward()
        gradients.append(x.grad)
    return dict(
        outputs=torch.stack(outputs, dim=1).detach(),
        gradients=torch.stack(gradients, dim=1),
        parameter_gradients={name: parameter.grad for name, parameter in layer.named_parameters()},
        buffers=dict(layer.named_buffers()),
    )


def own_rows(rank: int) -> Tensor:
    """Return (4, 3) rows, not contiguous."""
    return torch.arange(12.0).view(3, 4).T + 100 * rank


def factors(rank: int) -> Tensor:
    """Return the (8, 3) factors of the gathered rows in a process's loss."""
    return torch.randn(8, 3, generator=torch.Generator().manual_seed(rank))


def gathered(rank: int) -> tuple[Tensor, Tensor]:
    """Return the (8, 3) rows of both processes, and the (4, 3) gradient of this process's rows."""
    rows = own_rows(rank).requires_grad_()
    (gather_rows(rows) * factors(rank)).sum().backward()
    return gather_rows(own_rows(rank)), rows.grad


class Record(WatchingHook):
    """Record of the keys of every step and of its images."""

    def before_train(self, runner: Runner) -> None:
        self.steps: list[tuple] = []
        self.images: list[list[tuple]] = []

    def before_train_iter(self, runner: Runner, batch_idx: int, data_batch: dict) -> None:
        self.steps.append(tuple(runner.model.module.step_key))
        self.images.append([tuple(sample.sample_key) for sample in data_batch['data_samples']])


def run(rank: int) -> dict:
    """Train two epochs of two steps, in a run without a given seed."""
    os.environ['LOCAL_RANK'] = str(rank)
    wrapper = dict(type='MMDistributedDataParallel', broadcast_buffers=False, device_ids=None)
    record = Record()
    with tempfile.TemporaryDirectory() as work_dir:
        own = dict(launcher='pytorch', model_wrapper_cfg=wrapper, randomness=dict(seed=None))
        runner = build_runner(run_config(Path(work_dir), **own))
        runner.register_hook(record)
        learner = runner.train().module
    return dict(steps=record.steps, images=record.images, state=dict(learner.state_dict()))
