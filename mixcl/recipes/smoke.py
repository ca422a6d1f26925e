"""Any pretraining recipe, made small enough to run in under a minute on a CPU (``smoke``)."""

from mmengine.config import Config, ConfigDict

from mixcl.recipes.backbone import scale_sizes, views_in
from mixcl.recipes.paths import kind_of, mixers_of
from mixcl.recipes.sections import patch_of
from mixcl.weights import RANDOM

BATCH_SIZE = 8
PATCHES_PER_SIDE = 4
DEPTH = 2
WIDTH = 256
SMOKE_STEPS = 20
SMOKE_EPOCHS = 2


def shrink_to_smoke(cfg: Config, processes: int = 1) -> None:
    """Change the facts of a recipe, in place: 20 steps on synthetic images, everything else as it was.

    It has batches of 8; images of 4x4 patches of the backbone or the mixer (without patches, half or a quarter of their
    size); 2 transformer blocks; heads 256 wide; no workers.
    """
    _shrink_model(cfg.model)
    patch, data = patch_of(cfg.model.backbone), cfg.data
    sizes = [data.size, *(view['size'] for view in views_in(cfg) if view.get('size'))]
    # A mixer's if the backbone has no patches.
    cut = patch or next((mixer.patch_size for mixer in mixers_of(cfg.model) if mixer.get('patch_size')), None)
    size = PATCHES_PER_SIDE * cut if cut else data.size // (4 if min(sizes) > 128 else 2)
    scale_sizes(cfg, size / data.size, patch or 1)
    channels = cfg.model.backbone.get('in_channels', 3)
    numbers = dict(train=BATCH_SIZE * SMOKE_STEPS // SMOKE_EPOCHS * processes, bank=80)
    if 'test' in data.splits:
        numbers['test'] = 40
    # One by one: ConfigDict.update would merge them.
    data.images = ConfigDict(type='SyntheticImages', image_size=64, channels=channels)
    data.splits = ConfigDict({name: dict(num_images=number) for name, number in numbers.items()})
    data.share, data.workers = None, 0
    cfg.batch, cfg.at_once, cfg.measure = BATCH_SIZE * processes, BATCH_SIZE, dict(every=SMOKE_EPOCHS)
    cfg.schedule.update(epochs=SMOKE_EPOCHS, warmup=min(cfg.schedule.get('warmup', 0), 1))
    if cfg.default_hooks.get('logger'):
        cfg.default_hooks.logger.interval = SMOKE_STEPS // SMOKE_EPOCHS // 2


def _shrink_model(model: ConfigDict) -> None:
    if isinstance(model.backbone.get('arch'), dict):
        model.backbone.arch.num_layers = min(DEPTH, model.backbone.arch.num_layers)
    if 'decoder_depth' in (model.get('neck') or {}):
        model.neck.decoder_depth = min(DEPTH, model.neck.decoder_depth)
    if 'objective' not in model:  # an algorithm of mmpretrain, whose widths depend on each other
        return
    for mixer in mixers_of(model):
        if mixer.get('type') == 'RegionSwap':
            mixer.cell = 1  # its regions have at least 5 cells a side, and images are small
    if model.target.type == 'ShuffledEMA':
        model.target.groups = 2
    if kind_of(model.target) == 'Teacher':
        model.target.pretrained = RANDOM
        model.target.pop('size', None)
    narrowed = [model.neck, model.objective, (model.get('patches') or {}).get('objective'), model.get('predictor')]
    for part in [*narrowed, *model.get('memory', {}).values()]:
        for name in ('in_channels', 'hidden_channels', 'out_channels', 'channels', 'num_prototypes'):
            if part and part.get(name) is not None and not (name == 'in_channels' and part is model.neck):
                part[name] = min(WIDTH, part[name])
