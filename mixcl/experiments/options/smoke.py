"""Any pretraining config, made small enough to run in under a minute on a CPU."""

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.experiments.options.image_size import crop_sizes, patch_size_of, resize_views, set_model_size
from mixcl.experiments.paths import innermost, kind_of, pretrains

BATCH_SIZE = 8
PATCHES_PER_SIDE = 4
DEPTH = 2
WIDTH = 256
STEPS = 20
EPOCHS = 2


def shrink_to_smoke(cfg: Config) -> None:
    """Shrink a pretraining config, in place: 20 steps on synthetic images, everything else as it was.

    It has batches of 8; images of 4x4 patches of the backbone or the mixer (without patches, half or a quarter of their
    size); 2 transformer blocks; heads 256 wide; no workers. The changed config is stored like any other.

    Raises:
        UserError: if the config does not pretrain.
    """
    if not pretrains(cfg):
        raise UserError('`smoke` runs pretraining configs, whose train_cfg has type PretrainLoop')
    _shrink_model(cfg.model)
    patch_size = patch_size_of(cfg.model.backbone)
    crops = crop_sizes(cfg.train_dataloader)
    full_size = max(crops)
    cut = patch_size or (cfg.model.get('mixer') or {}).get('patch_size')  # the mixer's if the backbone has no patches
    image_size = PATCHES_PER_SIDE * cut if cut else full_size // (4 if min(crops) > 128 else 2)
    set_model_size(cfg.model, image_size)
    scale = image_size / full_size
    if (cfg.model.get('mixer') or {}).get('cell'):
        cfg.model.mixer.update(cell=1)
    sizes = (scale, patch_size or 1, cfg.model.backbone.get('in_channels', 3))
    _shrink_loader(cfg.train_dataloader, BATCH_SIZE * STEPS // EPOCHS, *sizes)
    for part in ('val', 'test'):
        if cfg.get(f'{part}_dataloader') is not None:
            _shrink_loader(cfg[f'{part}_dataloader'], 40, *sizes)
            _shrink_loader(cfg[f'{part}_cfg'].bank_dataloader, 80, *sizes)
    _shrink_schedule(cfg)


def _shrink_model(model: ConfigDict) -> None:
    if isinstance(model.backbone.get('arch'), dict):
        model.backbone.arch.num_layers = min(DEPTH, model.backbone.arch.num_layers)
    if 'decoder_depth' in (model.get('neck') or {}):
        model.neck.decoder_depth = min(DEPTH, model.neck.decoder_depth)
    if 'objective' not in model:  # an algorithm of mmpretrain, whose widths depend on each other
        return
    if model.target.type == 'ShuffledEMA':
        model.target.groups = 2
    narrowed = [model.neck, model.objective, *model.get('memory', {}).values()]
    if (model.get('patches') or {}).get('objective'):
        narrowed.append(model.patches.objective)
    if model.get('predictor'):
        narrowed.append(model.predictor)
        if model.predictor.get('in_channels'):
            model.predictor.in_channels = min(WIDTH, model.predictor.in_channels)
    for part in narrowed:
        for name in ('hidden_channels', 'out_channels', 'channels', 'num_prototypes'):
            if part.get(name) is not None:
                part[name] = min(WIDTH, part[name])


def _shrink_loader(loader: ConfigDict, num_images: int, scale: float, multiple: int, channels: int) -> None:
    loader.update(batch_size=BATCH_SIZE, num_workers=0, persistent_workers=False, pin_memory=False)
    holder = loader if kind_of(loader.dataset) != 'KeyedDataset' else loader.dataset
    holder.dataset = synthetic_images(holder.dataset, num_images, channels)
    resize_views(holder.dataset.pipeline, scale, multiple)


def _shrink_schedule(cfg: Config) -> None:
    cfg.train_cfg.update(max_epochs=EPOCHS, val_interval=EPOCHS)
    schedulers = cfg.get('param_scheduler') or []
    for scheduler in [schedulers] if isinstance(schedulers, dict) else schedulers:
        if 'warmup' in scheduler:
            scheduler.warmup = min(scheduler.warmup, 1)
    if cfg.default_hooks.get('logger'):
        cfg.default_hooks.logger.interval = STEPS // EPOCHS // 2
    if cfg.get('auto_scale_lr'):
        cfg.auto_scale_lr.enable = False


def synthetic_images(dataset: ConfigDict, number: int, channels: int = 3, size: int = 64) -> ConfigDict:
    """Return a data set of synthetic images that go through the pipeline of another one, however deep it is nested."""
    pipeline = innermost(dataset).pipeline  # which crops to its own size
    return ConfigDict(type='SyntheticImages', num_images=number, image_size=size, channels=channels, pipeline=pipeline)
