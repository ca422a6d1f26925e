"""Training runs of the tiny detector on drawn shapes: seconds, in this process."""

import itertools
from pathlib import Path

from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner, read_config

SHAPES = 'configs/transfer/shapes/mask-rcnn_vit-xs16.py'
SMALL = {
    'train_cfg.max_iters': 5,
    'train_dataloader.batch_size': 2,
    'train_dataloader.num_workers': 0,
    'train_dataloader.dataset.dataset.pipeline.2.scale': (96, 96),
    'model.data_preprocessor.pad_size_divisor': 32,
    'model.backbone.arch.num_layers': 2,
    'model.backbone.global_blocks': (1,),
    'model.train_cfg.rpn_proposal.max_per_img': 20,
    'model.train_cfg.rcnn.sampler.num': 8,
    'default_hooks.logger.interval': 1,
    'randomness.seed': 3,
}
"""Small images in batches of two."""

_numbers = itertools.count()


def shapes_config(data: Path, work_dir: Path, **overrides: object) -> Config:
    """Five steps without validation; ``overrides`` by dotted name (``__`` for the dot)."""
    cfg = read_config(SHAPES, {**SMALL, **{name.replace('__', '.'): v for name, v in overrides.items()}}, str(data))
    cfg.val_cfg = cfg.val_dataloader = cfg.val_evaluator = None
    cfg.work_dir = str(work_dir)
    # Names of mmengine's runs are time stamps, which two quick runs would share, and their logs with them.
    cfg.experiment_name = f'shapes_{next(_numbers)}'
    return cfg


def trained(cfg: Config) -> Runner:
    runner = build_runner(cfg)
    runner.train()
    return runner


def log_of(work_dir: Path) -> str:
    return '\n'.join(path.read_text() for path in sorted(work_dir.glob('*/*.log')))
