"""Several processes side by side, and what the tests have each of two do.

In a module of its own because the processes cannot import test modules.
"""

import hashlib
import os
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path

import host_steps
import tiny
import torch
from mmengine.dataset import default_collate
from mmengine.dist import get_world_size
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from tools.command import start, stop
from torch import Tensor, nn
from torch.utils.data import DataLoader

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.datasets import KeyedDataset, KeyedSampler, SyntheticImages
from mixcl.distributed import gather_rows
from mixcl.encoders import SyncBatchNorm
from mixcl.registry import MODELS

NORM_CASES = {
    '(N, C)': dict(shape=(8, 3)),
    '(N, C, H, W)': dict(shape=(8, 3, 2, 4)),
    'cumulative average': dict(shape=(8, 3), momentum=None),
    'without affine parameters': dict(shape=(8, 3), affine=False),
}
"""Shape of the batch of both processes together, and arguments of the layer."""

FIRST_ROWS = 5
"""Of 8 rows, the first process holds 5 and the second one 3."""


def run_pair(function: Callable[[int], object], folder: Path) -> list:
    """What ``function(rank)`` returns in two processes that can reach each other through gloo."""
    return run_processes(function, folder, 2)


def run_processes(function: Callable[[int], object], folder: Path, count: int) -> list:
    """:func:`run_pair` with any number of processes.

    Args:
        function: of a module below ``tests/`` that is no test module, since they import it by name.
        folder: an empty one, for what they exchange.
        count: of the processes.
    """
    (folder / 'function.pkl').write_bytes(pickle.dumps(function))
    processes = [start('tests/tools/one_of_several.py', folder, rank, count) for rank in range(count)]
    try:
        errors = [process.communicate(timeout=300)[1] for process in processes]
    finally:
        for process in processes:
            stop(process)
    assert [process.returncode for process in processes] == [0] * count, '\n'.join(errors)[-4000:]
    return [torch.load(folder / f'rank{rank}.pth') for rank in range(count)]


def everything(rank: int) -> dict:
    """What one process of the pair finds, by name."""
    rows = slice(FIRST_ROWS) if rank == 0 else slice(FIRST_ROWS, None)
    return dict(
        norm={name: normalise(SyncBatchNorm, name, rows) for name in NORM_CASES},
        low_precision={dtype: normalise_shifted(SyncBatchNorm, dtype, rows) for dtype in ('float32', 'bfloat16')},
        gathered=gathered(rank),
        steps=host_steps.steps(tuple(host_steps.MODELS), rank),
        batches=hashed_batches(),
        agreed_seed=KeyedSampler(range(4)).seed,
        run=run(rank),
    )


def normalise(layer_type: type[nn.Module], case: str, rows: slice) -> dict:
    """Two training batches and one in evaluation mode through a layer that sees some rows of a batch of 8.

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


def normalise_shifted(layer_type: type[nn.Module], dtype: str, rows: slice) -> Tensor:
    """Some rows of a batch whose mean is large against its spread, through a float32 layer."""
    x = torch.randn(8, 3, generator=torch.Generator().manual_seed(0)) * 100 + 1e4
    return layer_type(3)(x.to(getattr(torch, dtype))[rows]).detach()


def own_rows(rank: int) -> Tensor:
    """(4, 3), not contiguous."""
    return torch.arange(12.0).view(3, 4).T + 100 * rank


def factors(rank: int) -> Tensor:
    """(8, 3), what a process's loss multiplies the gathered rows with."""
    return torch.randn(8, 3, generator=torch.Generator().manual_seed(rank))


def gathered(rank: int) -> tuple[Tensor, Tensor]:
    """(8, 3) rows of both processes, and (4, 3) what flows back to this process's rows."""
    rows = own_rows(rank).requires_grad_()
    (gather_rows(rows) * factors(rank)).sum().backward()
    return gather_rows(own_rows(rank)), rows.grad


def synthetic() -> KeyedDataset:
    """21 images, randomly flipped, of which two randomly cropped views are taken."""
    view = [dict(type='mmpretrain.RandomResizedCrop', scale=8)]
    pipeline = [
        dict(type='LoadImage'),
        dict(type='RandomFlip', prob=0.5),
        dict(type='KeyedMultiView', num_views=[2], transforms=[view]),
        dict(type='mmpretrain.PackInputs'),
    ]
    with DefaultScope.overwrite_default_scope('mixcl'):
        return KeyedDataset(SyntheticImages(num_images=21, image_size=16, pipeline=pipeline))


def hashed_batches() -> list[list[list]]:
    """The batches of this process's share of an epoch, 8 images over all processes: [index, hashes] of every image."""
    dataset = synthetic()
    sampler = KeyedSampler(dataset, seed=3)
    sampler.set_epoch(1)
    loader = DataLoader(dataset, 8 // get_world_size(), sampler=sampler, drop_last=True, collate_fn=default_collate)
    return [
        [
            [sample.sample_idx, [hashlib.sha256(view[row].numpy().tobytes()).hexdigest() for view in batch['inputs']]]
            for row, sample in enumerate(batch['data_samples'])
        ]
        for batch in loader
    ]


@MODELS.register_module(force=True)
class NotingLearner(ContrastiveLearner):
    """Notes which steps the train loop announces."""

    def begin_step(self, key: StepKey, epoch: int = 0) -> None:
        self.steps = [*getattr(self, 'steps', []), (*key, epoch)]
        super().begin_step(key, epoch)


def run(rank: int) -> dict:
    """Two epochs of the train loop, in a run whose seed nobody gave."""
    os.environ['LOCAL_RANK'] = str(rank)
    preprocessor = dict(type='mmpretrain.SelfSupDataPreprocessor', mean=[128.0] * 3, std=[64.0] * 3)
    wrapper = dict(type='MMDistributedDataParallel', broadcast_buffers=False, device_ids=None)
    with tempfile.TemporaryDirectory() as work_dir:
        runner = Runner(
            tiny.model_config(type='NotingLearner', data_preprocessor=preprocessor),
            work_dir,
            train_dataloader=dict(
                batch_size=4,
                num_workers=0,
                drop_last=True,
                dataset=synthetic(),
                sampler=dict(type='KeyedSampler'),
                collate_fn=dict(type='default_collate'),
            ),
            train_cfg=dict(type='PretrainLoop', max_epochs=2),
            optim_wrapper=dict(optimizer=dict(type='AdamW', lr=1e-2)),
            default_hooks=dict(checkpoint=None),
            cfg=dict(model_wrapper_cfg=wrapper),
            launcher='pytorch',
            default_scope='mixcl',
            log_level='ERROR',
        )
        learner = runner.train().module
    return dict(steps=learner.steps, state=dict(learner.state_dict()))
