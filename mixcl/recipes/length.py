"""Length, batches and loading of a run, fitted to the number of images and the machine (``mixcl pretrain``)."""

import math
from dataclasses import dataclass

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.recipes.reading import read_config

USUAL_STEPS = 25_000
BOUNDS_OF_EPOCHS = (100, 800)
"""Number of training steps without ``epochs``, and bounds of the epochs, which take precedence."""

BOUNDS_OF_BATCHES = (4, 128)
WISHED_STEPS_PER_EPOCH = 4
"""Bounds of batches (mixtures need a few images), and the steps per epoch that batches are made small for."""

WARM_UP = 300
"""Minimum length of a warm-up: about this number of steps, or a third of the epochs if that is shorter."""

CHECKPOINTS = 10
"""Number of checkpoints that a run writes."""


@dataclass(frozen=True)
class Fit:
    """Length, batch and processes that :func:`fit_to` fits to a number of images; None where the number decides."""

    epochs: int | None = None
    batch_size: int | None = None
    num_workers: int | None = None
    processes: int = 1

    def __post_init__(self) -> None:
        for name, least in dict(epochs=1, batch_size=1, num_workers=0).items():
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or value < least):
                raise UserError(
                    f'`{name}={value!r}` is no whole number of at least {least}; leave it out for one that fits'
                )


def use_recipe_of(cfg: Config, backbone: str) -> None:
    """Give AdamW and its schedule to a backbone that is no ResNet, if the method's own recipe has SGD or LARS."""
    if 'resnet' not in backbone and cfg.optimizer.type not in ('AdamW', 'Muon'):
        recipe = read_config('mocov3/vit-s16_in1k')
        cfg.optimizer, cfg.schedule = recipe.optimizer, recipe.schedule
        cfg.pop('optim_wrapper', None)


def fit_to(cfg: Config, images: int, fit: Fit) -> None:
    """Fit the facts about length, batch, queues and loading to the number of images and the machine, in place.

    Raises:
        UserError: if a process has fewer images than a batch, or fewer than 2.
    """
    processes = fit.processes
    if images < 2 * processes:
        raise UserError(f'{processes} process(es) need at least {2 * processes} images; found {images}')
    share = images // processes
    fitting = 2 ** int(math.log2(max(share // WISHED_STEPS_PER_EPOCH, 1)))
    batch = fit.batch_size or max(min(fitting, BOUNDS_OF_BATCHES[1]), min(BOUNDS_OF_BATCHES[0], share))
    if not 2 <= batch <= share:
        raise UserError(
            f'`batch_size={batch}` must be from 2 to {share}, the number of images of each of {processes} process(es): '
            'give another, or more images'
        )
    cfg.batch, cfg.at_once = batch * processes, batch
    if fit.num_workers is not None:
        cfg.data.workers = fit.num_workers
    target = cfg.model.get('target') or {}
    if target.get('type') == 'ShuffledEMA' and processes == 1:
        most = target.get('groups', 8)
        groups = next((parts for parts in range(most, 1, -1) if batch % parts == 0 and batch >= 2 * parts), most)
        target |= dict(groups=groups) if groups != most else {}
    for queue in (cfg.model.get('memory') or {}).values():  # else most negatives would be the image itself
        queue.size = min(queue.size, max(images // 2, 1) // cfg.batch * cfg.batch or cfg.batch)
    least, most = BOUNDS_OF_EPOCHS
    epochs = fit.epochs or min(max(USUAL_STEPS * batch // share, least), most)
    use_epochs(cfg, epochs, steps=share // batch)
    cfg.measure = dict(cfg.get('measure') or {}, every=max(epochs // CHECKPOINTS, 1))
    cfg.default_hooks.checkpoint.interval = cfg.measure.every


STRETCHED = ('milestones', 'end', 'T_max')
"""Settings of schedules that are epochs."""


def stretch(schedule: ConfigDict, before: int) -> None:
    """Keep the milestones and the end of a schedule at the same shares of another number of epochs, in place."""
    for name in ('end', 'T_max'):
        if schedule.get(name) and schedule.get('begin', 0) < schedule.epochs:
            schedule[name] = round(schedule[name] * schedule.epochs / before)
    if 'milestones' in schedule:  # one at 0 would come before the first step
        schedule.milestones = [max(round(step * schedule.epochs / before), 1) for step in schedule.milestones]


def use_epochs(cfg: Config, epochs: int, steps: int) -> None:
    """Change the number of epochs, each of so many steps: schedules keep their shares of the run, and warm-ups are at
    most a tenth of the run unless that is too few steps."""
    schedule, before = cfg.schedule, cfg.schedule.epochs
    schedule.epochs, least = epochs, min(max(round(WARM_UP / steps), 1), epochs // 3)
    if schedule.get('begin'):
        schedule.begin = round(schedule.begin * epochs / before)
    stretch(schedule, before)
    if schedule.get('warmup'):
        schedule.warmup = max(min(schedule.warmup, epochs // 10), least)
    for objective in (cfg.model.get('objective') or {}, (cfg.model.get('patches') or {}).get('objective') or {}):
        for name in {'warmup_epochs', 'queue_from'} & objective.keys():
            objective[name] = min(objective[name], epochs // 10)
