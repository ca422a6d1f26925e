"""Detection runs that are interrupted end with the same weights as uninterrupted ones."""

import copy
from pathlib import Path

import pytest
import torch
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.recipes.prepared import prepared

SMALL = {
    'train_cfg.max_iters': 5, 'train_dataloader.batch_size': 2, 'model.data_preprocessor.pad_size_divisor': 32,
    'train_dataloader.dataset.dataset.pipeline.2.scale': (96, 96), 'model.train_cfg.rpn_proposal.max_per_img': 20,
    'model.backbone.arch.num_layers': 2, 'model.backbone.global_blocks': (1,), 'model.train_cfg.rcnn.sampler.num': 8,
    'default_hooks.logger.interval': 1, 'default_hooks.checkpoint.interval': 1,
    'default_hooks.checkpoint.max_keep_ckpts': -1, 'randomness.seed': 3,
}  # fmt: skip
"""Options for five steps of two small images."""


def trained(shapes: Path, work_dir: Path, num_workers: int, **options: object) -> Runner:
    workers = {'train_dataloader.num_workers': num_workers, 'train_dataloader.persistent_workers': bool(num_workers)}
    cfg = copy.deepcopy(
        prepared(
            'configs/transfer/shapes/mask-rcnn_vit-xs16.py',
            cfg_options={**SMALL, **workers, **options},
            data_root=str(shapes),
        )
    )
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    # mmengine names runs by time stamps: two quick runs would share a name and a log.
    cfg.work_dir, cfg.experiment_name = str(work_dir), f'shapes_{work_dir.name}'
    runner = build_runner(cfg)
    runner.train()
    return runner


@pytest.mark.parametrize('workers', [2, pytest.param(0, marks=pytest.mark.long)])
def test_a_resumed_run_equals_the_undisturbed_one(shapes: Path, tmp_path: Path, workers: int) -> None:
    whole = trained(shapes, tmp_path / 'whole', num_workers=0)
    torch.rand(3)  # the global generators have moved when a run is resumed
    checkpoint = str(tmp_path / 'whole/iter_2.pth')
    resumed = trained(shapes, tmp_path / 'resumed', workers, resume=True, load_from=checkpoint)
    losses = [runner.message_hub.get_scalar('train/loss').data[0].tolist() for runner in (whole, resumed)]
    assert losses[0] == losses[1] and len(losses[0]) == 5
    torch.testing.assert_close(whole.model.state_dict(), resumed.model.state_dict(), rtol=0, atol=0)
    states = [runner.optim_wrapper.state_dict()['state'] for runner in (whole, resumed)]
    torch.testing.assert_close(*states, rtol=0, atol=0)
