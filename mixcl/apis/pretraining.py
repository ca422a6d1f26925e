"""Pretraining on a folder of images in one call: a method's config, fitted to the images and the machine."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dataset import BaseDataset

from mixcl.apis.arguments import named
from mixcl.apis.training import TrainOptions, change_backbone_and_images, run
from mixcl.command_line import cpu_cores
from mixcl.configuration import check_config, check_overrides
from mixcl.datasets.image_digest import image_digest
from mixcl.engine.runners.launch import read_config
from mixcl.engine.runners.processes import process_count
from mixcl.engine.runners.same_run import changed_settings, keeps_computation
from mixcl.engine.runners.work_dir import checkpoints_in
from mixcl.errors import UserError
from mixcl.registry import DATASETS, build
from mixcl.shipped import find_config, known_configs
from mixcl.weights import checkpoint_in, read_checkpoint, stored_config

PREFERRED = ('vit-s16_folder', 'vit-s16_in1k', 'vit-s16_in100', 'r50_in1k', 'r18_tinyimagenet')
"""Of a method's configs the one that is taken, with the host behind its name."""

HOSTS = ('mocov3', 'mocov2', 'dino', 'simclr', 'byol', 'simsiam', 'mocov1')
"""Of several hosts the one that is taken where none is named."""

STEPS = 25_000
EPOCHS = (100, 800)
"""So many steps are trained, within these bounds of epochs."""

BATCH = (4, 128)
STEPS_PER_EPOCH = 4
"""Within these bounds batches are small enough for so many steps in an epoch; mixtures need a few images."""

WARM_UP = 300
"""About so many steps a warm-up has at least, or a third of the epochs where these are fewer."""

CHECKPOINTS = 10
"""How many a run writes."""


@named(TrainOptions, without=('backbone', 'work_dir'))
def pretrain(
    data: str | Path,
    out: str | Path,
    *,
    method: str = 'patchmix',
    model: str | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    num_workers: int | None = None,
    amp: bool | None = None,
    cfg_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Path:
    """Pretrain a backbone on images without labels. The same call again continues where the run stopped.

    What is not given fits the number of images: docs/python.md explains how.

    Args:
        data: a folder of images, however deep, or what ``--data`` takes: 'list:files.csv', 'hf:PATH', 'tar:PATTERN'.
        out: the folder of the run.
        method: a folder of configs, where it has several hosts with one of them: 'patchmix', 'mixco/simclr'; or a
            config in it, for its views and its backbone: 'patchmix/vit-xs4_digits'.
        model: the backbone, such as 'timm:vit_small_patch16_224'; by default that of the method's config.
        epochs: how often every image is seen.
        batch_size: images per step and process; the learning rate is scaled to it.
        num_workers: processes that load images, on each of the training processes.
        amp: train under bfloat16 autocast; by default on a GPU.
        cfg_options: override values of the config, by dotted names.
        **options: of :class:`~mixcl.apis.training.TrainOptions`: image_size, pretrained, max_time, launcher and others.

    Returns:
        The checkpoint of the last epoch; ``mixcl.load_backbone``, ``mixcl.embed`` and ``mixcl.export`` read it.

    Raises:
        UserError: for whatever cannot work, before the first step; also if ``out`` holds a run with other settings.
        RunStopped: if a signal or ``max_time`` ended the run.
    """
    numbers = dict(epochs=epochs, batch_size=batch_size, image_size=options.get('image_size'), num_workers=num_workers)
    for name, value in numbers.items():
        least = 0 if name == 'num_workers' else 1
        if value is not None and (not isinstance(value, int) or value < least):
            raise UserError(f'{name}={value!r} is no whole number of at least {least}; leave it out for one that fits')
    amp = torch.cuda.is_available() if amp is None else amp
    spec = str(data) if ':' in str(data) else f'folder:{data}'
    asked = TrainOptions(amp=amp, data=spec, backbone=model, **options)
    cfg = read_config(config_of(str(method)))
    if model is not None:
        _use_recipe_of(str(model), cfg)
    found = change_backbone_and_images(cfg, asked)
    images = build(DATASETS, {**cfg.train_dataloader.dataset.dataset, 'pipeline': []})
    fit_to(cfg, len(images), epochs, batch_size, num_workers, process_count(asked.launcher))
    check_overrides(cfg, dict(cfg_options or {}))
    cfg.merge_from_dict(dict(cfg_options or {}))
    check_config(cfg)
    cfg.work_dir = str(out)
    if checkpoints_in(out) and not asked.overwrite:
        allow = asked.allow_changes or _is_only_longer(cfg, out, images)
        asked = replace(asked, resume='auto', allow_changes=allow)
    run(cfg, asked, found, asked.overwrite)
    return Path(checkpoint_in(out))


def _is_only_longer(cfg: Config, out: str | Path, images: BaseDataset) -> bool:
    """Whether a config asks for more epochs than the run in a folder had, and for nothing else but what follows."""
    path = checkpoint_in(out)
    checkpoint = read_checkpoint(path)
    stored, digest = stored_config(checkpoint, path), checkpoint['meta'].get('images')
    if digest not in (None, image_digest(images)):
        return False
    if stored is None or stored.train_cfg.max_epochs >= cfg.train_cfg.max_epochs:
        return False
    changes = [change for change in changed_settings(stored, cfg) if not keeps_computation(change)]
    return all(change.path.startswith(('param_scheduler', 'model.objective.warmup_epochs')) for change in changes)


def config_of(method: str) -> Path:
    """The config that pretrains by a method, 'patchmix', or by one of its hosts, 'mixco/simclr'; or that config itself.

    Raises:
        UserError: if there is no such method or host; it lists those that there are.
    """
    name, _, host = method.partition('/')
    known = known_configs(f'{name}/*')
    if method in known:
        return find_config(method)
    for suffix in [f'_{host}'] if host else ['', *(f'_{each}' for each in HOSTS)]:
        found = [f'{name}/{stem}{suffix}' for stem in PREFERRED if f'{name}/{stem}{suffix}' in known]
        if found:
            return find_config(found[0])
    methods = sorted({config.partition('/')[0] for config in known_configs()} - {'transfer'})
    hosts = [each for each in HOSTS if any(config.endswith(f'_{each}') for config in known)]
    which = f'it has the hosts {", ".join(hosts)}' if hosts else f'choose one of {", ".join(methods)}'
    raise UserError(f'there is no method {method!r}; {which}')


def _use_recipe_of(model: str, cfg: Config) -> None:
    """Give a model with attention AdamW and its schedule, where the method's own recipe is one of ResNets."""
    if 'resnet' not in model and cfg.optim_wrapper.optimizer.type != 'AdamW':
        recipe = read_config(find_config('mocov3/vit-s16_in1k'))
        for part in ('optim_wrapper', 'param_scheduler', 'auto_scale_lr'):
            cfg[part] = recipe[part]


def fit_to(
    cfg: Config, images: int, epochs: int | None, batch_size: int | None, num_workers: int | None, processes: int = 1
) -> None:
    """Fit the length of a run, its batch, queues and loading to so many images and to the machine, in place.

    Raises:
        UserError: if the images are fewer than a batch.
    """
    share = images // processes
    fitting = 2 ** int(math.log2(max(share // STEPS_PER_EPOCH, 1)))
    batch = batch_size or max(min(fitting, BATCH[1]), min(BATCH[0], share))
    if not 2 <= batch <= share:
        raise UserError(
            f'batches of {batch} on each of {processes} process(es) cannot be made of {images} image(s): a batch has '
            'at least 2, and at most what a process gets; give more images, or another batch_size'
        )
    least, most = EPOCHS
    epochs = epochs or min(max(STEPS * batch // share, least), most)
    cfg.train_dataloader.batch_size = batch
    for loader in (
        cfg.get('train_dataloader'),
        cfg.get('val_dataloader'),
        (cfg.get('val_cfg') or {}).get('bank_dataloader'),
    ):
        if loader:
            workers = min(loader.num_workers, cpu_cores()) if num_workers is None else num_workers
            loader.update(num_workers=workers, persistent_workers=workers > 0)
    cfg.auto_scale_lr.enable = True
    for queue in (cfg.model.get('memory') or {}).values():  # else most negatives would be the image itself
        queue.size = min(
            queue.size, max(images // 2, 1) // (batch * processes) * batch * processes or batch * processes
        )
    _shorten(cfg, epochs, steps=share // batch)


def _shorten(cfg: Config, epochs: int, steps: int) -> None:
    """Another number of epochs, of so many steps: schedules keep their shares of the run, warm-ups are at most a tenth
    of it where that is not too few steps."""
    before = cfg.train_cfg.max_epochs
    least = min(max(round(WARM_UP / steps), 1), epochs // 3)
    cfg.train_cfg.update(max_epochs=epochs, val_interval=max(epochs // CHECKPOINTS, 1))
    cfg.default_hooks.checkpoint.interval = max(epochs // CHECKPOINTS, 1)
    for schedule in cfg.param_scheduler:
        for name in ('begin', 'end', 'T_max'):
            if schedule.get(name):
                schedule[name] = round(schedule[name] * epochs / before)
        if 'milestones' in schedule:
            schedule.milestones = [round(step * epochs / before) for step in schedule.milestones]
        if schedule.get('warmup'):
            schedule.warmup = max(min(schedule.warmup, epochs // 10), least)
    # Of a short run a warm-up may be nothing.
    cfg.param_scheduler = [each for each in cfg.param_scheduler if each.get('begin', 0) < each.get('end', epochs)]
    if 'warmup_epochs' in cfg.model.objective:
        cfg.model.objective.warmup_epochs = min(cfg.model.objective.warmup_epochs, epochs // 10)
