"""The batch of a recipe is kept whatever the number of processes and the images that fit into one of them."""

from pathlib import Path

import pytest
import torch
from mmengine.config import Config
from tools.command import run
from tools.in_process import run_here

from mixcl.errors import UserError
from mixcl.evaluation.training import keep_batch


def config(batch_size: int, batch: int | None) -> Config:
    loader = dict(batch_size=batch_size, sampler=dict(type='KeyedSampler'))
    cfg = Config(dict(config_name='linear/x', train_dataloader=loader, optim_wrapper={}))
    if batch is not None:
        cfg.auto_scale_lr = dict(base_batch_size=batch)
    return cfg


@pytest.mark.parametrize(
    ('batch_size', 'batch', 'processes', 'at_once', 'accumulated'),
    [
        (128, 1024, 8, 128, 1),
        (128, 1024, 1, 128, 8),
        (128, 1024, 16, 64, 1),
        (256, 256, 2, 128, 1),
        (100, 256, 1, 64, 4),
        (48, 96, 3, 32, 1),
        (7, 8, 1, 4, 2),
        (32, None, 2, 32, 1),
    ],
)
def test_processes_share_the_batch(
    batch_size: int, batch: int | None, processes: int, at_once: int, accumulated: int
) -> None:
    cfg = config(batch_size, batch)
    keep_batch(cfg, processes)
    assert cfg.train_dataloader.batch_size == at_once
    assert cfg.optim_wrapper.get('accumulative_counts', 1) == accumulated
    assert batch is None or at_once * accumulated * processes == batch


def test_a_batch_that_cannot_be_shared_is_refused() -> None:
    with pytest.raises(UserError, match=r'linear/x trains with batches of 256 images, which 3 processes cannot share'):
        keep_batch(config(64, 256), 3)


def head(folder: Path) -> torch.Tensor:
    (path,) = folder.rglob('epoch_2.pth')
    state = torch.load(path, map_location='cpu', weights_only=True)['state_dict']
    return torch.cat([value.flatten() for name, value in state.items() if name.startswith('head.')])


@pytest.mark.long
def test_a_probe_depends_neither_on_the_images_seen_at_once_nor_on_the_processes(tmp_path: Path) -> None:
    arguments = ('tools/evaluate.py', 'random', '--data', 'digits', '--protocols', 'linear', '--work-dir')
    options = ['train_cfg.max_epochs=2', 'train_dataloader.num_workers=0', 'val_dataloader.num_workers=0']
    for images in (128, 16):
        assert (
            run_here(*arguments, tmp_path / f'{images}', options=(*options, f'train_dataloader.batch_size={images}'))
            == 0
        )
    launch = ('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2)
    result = run(*launch, *arguments, tmp_path / 'two', '--launcher', 'pytorch', '--cfg-options', *options)
    assert result.returncode == 0, result.stderr[-3000:]
    expected = head(tmp_path / '128')
    assert expected.abs().max() > 1e-2
    for other in ('16', 'two'):
        torch.testing.assert_close(head(tmp_path / other), expected, rtol=1e-4, atol=1e-6)
