"""Any pretraining config, made small enough to run in under a minute on a CPU."""

import re
from collections.abc import Sequence

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError

BATCH_SIZE = 8
PATCHES_PER_SIDE = 4
DEPTH = 2
WIDTH = 256
STEPS = 20
EPOCHS = 2


def shrink_to_smoke(cfg: Config) -> None:
    """Change a pretraining config in place: 20 steps on synthetic images, everything else as it was.

    Batches of 8; images of at most 4x4 patches (a half or a quarter of the size where the backbone has none); 2
    transformer blocks; heads 256 wide; no workers. The changed config is stored in the run folder like any other.

    Raises:
        UserError: if the config is not one of a ContrastiveLearner.
    """
    if cfg.get('model', {}).get('type') not in ('ContrastiveLearner', 'PatchSamplingLearner'):
        raise UserError('--smoke runs pretraining configs, whose model has type ContrastiveLearner')
    _shrink_model(cfg.model)
    patch_size = _patch_size(cfg.model.backbone)
    scales = [transform['scale'] for transform in _sized_transforms(cfg.train_dataloader) if 'scale' in transform]
    full_size = max(max(_pair(scale)) for scale in scales)
    image_size = PATCHES_PER_SIDE * patch_size if patch_size else full_size // (4 if full_size > 64 else 2)
    if patch_size:
        cfg.model.backbone.img_size = image_size
    scale = image_size / full_size
    if (cfg.model.get('mixer') or {}).get('cell'):
        cfg.model.mixer.update(cell=1)
    _shrink_loader(cfg.train_dataloader, scale, patch_size or 1, BATCH_SIZE * STEPS // EPOCHS)
    for part in ('val', 'test'):
        if cfg.get(f'{part}_dataloader') is not None:
            _shrink_loader(cfg[f'{part}_dataloader'], scale, patch_size or 1, 40)
            _shrink_loader(cfg[f'{part}_cfg'].bank_dataloader, scale, patch_size or 1, 80)
    _shrink_schedule(cfg)


def _patch_size(backbone: ConfigDict) -> int | None:
    """Of a transformer of timm the name tells, as of vit_small_patch16_224."""
    named = re.search(r'patch(\d+)', backbone.get('model_name', '')) if backbone.type == 'TIMMViT' else None
    return backbone.get('patch_size') or (int(named[1]) if named else None)


def _shrink_model(model: ConfigDict) -> None:
    if isinstance(model.backbone.get('arch'), dict):
        model.backbone.arch.num_layers = min(DEPTH, model.backbone.arch.num_layers)
    if model.target.type == 'ShuffledEMA':
        model.target.groups = 2
    narrowed = [model.neck, model.objective, *model.get('memory', {}).values()]
    if model.get('predictor'):
        narrowed.append(model.predictor)
        model.predictor.in_channels = min(WIDTH, model.predictor.in_channels)
    for part in narrowed:
        for name in ('hidden_channels', 'out_channels', 'channels', 'num_prototypes'):
            if part.get(name) is not None:
                part[name] = min(WIDTH, part[name])


def _shrink_loader(loader: ConfigDict, scale: float, multiple: int, num_images: int) -> None:
    loader.update(batch_size=BATCH_SIZE, num_workers=0, persistent_workers=False, pin_memory=False)
    holder = loader if loader.dataset.type != 'KeyedDataset' else loader.dataset
    pipeline = holder.dataset.pipeline
    for transform in _sized_transforms(pipeline):
        for name in ('scale', 'crop_size'):
            if name in transform:
                sides = [max(multiple, round(side * scale / multiple) * multiple) for side in _pair(transform[name])]
                transform[name] = tuple(sides) if isinstance(transform[name], Sequence) else sides[0]
    holder.dataset = ConfigDict(type='SyntheticImages', num_images=num_images, image_size=64, pipeline=pipeline)


def _shrink_schedule(cfg: Config) -> None:
    cfg.train_cfg.update(max_epochs=EPOCHS, val_interval=EPOCHS)
    for scheduler in cfg.param_scheduler:
        if 'warmup' in scheduler:
            scheduler.warmup = min(scheduler.warmup, 1)
    cfg.default_hooks.logger.interval = STEPS // EPOCHS // 2
    if cfg.get('auto_scale_lr'):
        cfg.auto_scale_lr.enable = False


def _sized_transforms(node: object) -> list[ConfigDict]:
    """Every transform config, at any depth, that sets a size."""
    if isinstance(node, dict):
        own = [node] if 'scale' in node or 'crop_size' in node else []
        return own + [found for value in node.values() for found in _sized_transforms(value)]
    if isinstance(node, (list, tuple)):
        return [found for value in node for found in _sized_transforms(value)]
    return []


def _pair(size: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(size) if isinstance(size, Sequence) else (size, size)
