"""Pretraining on a folder of images in one call: a method's config, fitted to the images and the machine."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from mmengine.config import Config

from mixcl.apis.arguments import named
from mixcl.apis.training import run
from mixcl.datasets.image_digest import image_digest
from mixcl.distributed import process_count
from mixcl.engine.runners.same_run import changed_settings, keeps_computation
from mixcl.engine.runners.work_dir import checkpoints_in
from mixcl.errors import UserError
from mixcl.recipes.length import Fit
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.registry import DATASETS, build
from mixcl.shipped import config_of
from mixcl.weights import checkpoint_in, read_checkpoint, stored_config


@named(Options, without=('backbone', 'work_dir', 'fit', 'resume'))
def pretrain(
    data: str | Path,
    out: str | Path,
    *,
    method: str | None = None,
    model: str | None = None,
    epochs: int | None = None,
    batch_size: int | None = None,
    lr: float | None = None,
    seed: int | None = None,
    num_workers: int | None = None,
    amp: bool | None = None,
    cfg_options: Mapping[str, Any] | None = None,
    **options: Any,
) -> Path:
    """Pretrain a backbone on images without labels. The same call again continues where the run stopped.

    What is not given is fitted to the number of images: docs/python.md explains how.

    Args:
        data: a folder of images, however deep, or what ``--data`` takes: 'list:files.csv', 'hf:PATH', 'tar:PATTERN'.
        out: the folder of the run.
        method: a folder of configs ('patchmix'), with one of its hosts if it has several ('mixco/simclr'); or one of
            its configs, for the views and the backbone in it ('patchmix/vit-xs4_digits'). By default patchmix, and
            with a ``teacher`` distillation.
        model: the backbone, such as 'timm:vit_small_patch16_224'; by default that of the method's config.
        epochs: how often every image is seen.
        batch_size: images per step and process; the learning rate is scaled to it.
        lr: the highest learning rate, as it is; by default that of the method's config, scaled to the batch.
        seed: of weights, views and mixtures; by default that of the method's config.
        num_workers: processes that load images, on each of the training processes.
        amp: train under bfloat16 autocast; by default on a GPU.
        cfg_options: override values of the config, by dotted names.
        **options: see :class:`~mixcl.recipes.prepared.Options`: name, image_size, pretrained, max_time and others.

    Returns:
        The checkpoint of the last epoch; ``mixcl.load_backbone``, ``mixcl.embed`` and ``mixcl.export`` read it.

    Raises:
        UserError: for whatever cannot work, before the first step; also if ``out`` holds a run with other settings.
        RunStopped: if a signal or ``max_time`` ended the run.
    """
    if not isinstance(data, str | Path):
        raise UserError(
            '`data` is one folder or source; write the paths of a list of files into a text file, a line each, and give'
            " data='list:files.txt'"
        )
    image_size = options.get('image_size')
    if image_size is not None and (not isinstance(image_size, int) or image_size < 1):
        raise UserError(f'`image_size={image_size!r}` is no whole number of at least 1; leave it out for one that fits')
    overrides: dict[str, Any] = {} if seed is None else {'randomness.seed': seed}
    launcher = options.get('launcher', 'none')
    continued = checkpoints_in(out) and not options.get('overwrite')
    all_options = Options(
        work_dir=str(out),
        resume='auto' if continued else None,
        data=str(data) if ':' in str(data) else f'folder:{data}',
        backbone=None if model is None else str(model),
        lr=lr,
        fit=Fit(epochs, batch_size, num_workers, process_count(launcher)),
        amp=torch.cuda.is_available() if amp is None else amp,
        cfg_options={**overrides, **(cfg_options or {})},
        **options,
    )
    cfg = prepared_to_train(config_of(method, all_options.backbone, all_options.teacher), all_options)
    if continued and _is_only_longer(cfg, out):
        all_options = replace(all_options, allow_changes=True)
    run(cfg, all_options)
    return Path(checkpoint_in(out))


def _is_only_longer(cfg: Config, out: str | Path) -> bool:
    """Whether a config asks only for more epochs than the run in a folder had, and for what follows from that."""
    path = checkpoint_in(out)
    checkpoint = read_checkpoint(path)
    stored, images = stored_config(checkpoint, path), checkpoint['meta'].get('images') or {}
    now = image_digest(build(DATASETS, {**cfg.train_dataloader.dataset.dataset, 'pipeline': []}))
    if checkpoint.get('hooks', {}).get('lost') or any(images.get(part, value) != value for part, value in now.items()):
        return False
    if stored is None or stored.train_cfg.max_epochs >= cfg.train_cfg.max_epochs:
        return False
    changes = [change for change in changed_settings(stored, cfg) if not keeps_computation(change)]
    follows = re.compile(r'param_scheduler|model\.(patches\.)?objective\.(warmup_epochs|queue_from)')
    return all(follows.match(change.path) for change in changes)
