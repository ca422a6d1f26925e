"""Runs of a few seconds on real digits, with everything but the size as in the configs."""

import itertools
from pathlib import Path

import tiny
from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner
from mixcl.recipes.facts import read_facts
from mixcl.recipes.reading import read_config
from mixcl.recipes.sections import Shared, schedules, wrapper

STEPS_PER_EPOCH = 5
BATCH_SIZE = 8
_numbers = itertools.count()


def run_config(work_dir: Path, **overrides: object) -> Config:
    """Return a config of two epochs of five batches of eight images; ``__`` in ``overrides`` stands for a dot."""
    crop = dict(type='mmpretrain.RandomResizedCrop', scale=8, crop_ratio_range=(0.5, 1.0), backend='pillow')
    jitter = dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4)
    pipeline = [
        dict(type='KeyedMultiView', num_views=[1, 1], transforms=[[crop, jitter], [crop]]),
        dict(type='mmpretrain.PackInputs'),
    ]
    digits = dict(type='Digits', split='train', indices=BATCH_SIZE * STEPS_PER_EPOCH, pipeline=pipeline)
    cfg = Config.fromfile('configs/_base_/default_runtime.py')
    recipe = read_facts(read_config('patchmix/vit-s16_in1k'))
    cfg.optim_wrapper = wrapper(recipe.optimizer, Shared(1024, 1, 1024))
    cfg.param_scheduler = schedules(recipe.schedule, recipe.optimizer)
    cfg.train_cfg = dict(type='PretrainLoop', val_interval=10)
    cfg.model = tiny.model_config()
    cfg.data_preprocessor = dict(type='ViewPreprocessor', mean=[127.5] * 3, std=[127.5] * 3, to_rgb=True)
    cfg.train_dataloader = dict(
        batch_size=BATCH_SIZE,
        num_workers=0,
        drop_last=True,
        collate_fn=dict(type='default_collate'),
        sampler=dict(type='KeyedSampler', shuffle=True),
        dataset=dict(type='KeyedDataset', dataset=digits, views='device'),
    )
    cfg.train_cfg.max_epochs = 2
    cfg.param_scheduler[0].warmup = 1
    cfg.default_hooks.logger.interval = 1
    cfg.visualizer.vis_backends = [dict(type='LocalVisBackend')]
    cfg.work_dir = str(work_dir)
    # mmengine names runs by time stamps: two quick runs would share a name and a log.
    cfg.experiment_name = f'tiny_{next(_numbers)}'
    cfg.merge_from_dict({name.replace('__', '.'): value for name, value in overrides.items()})
    return cfg


def trained(cfg: Config) -> Runner:
    runner = build_runner(cfg)
    runner.train()
    return runner


def scalars(runner: Runner, name: str) -> list[float]:
    """Return the values of a measure of training, step by step."""
    return runner.message_hub.get_scalar(f'train/{name}').data[0].tolist()
