"""The losses of a few synthetic images on the CPU, which show what does not fit before data are read."""

from contextlib import suppress

import torch
from mmengine.config import Config, ConfigDict
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import Tensor, nn

from mixcl.algorithms import Learner, PatchSamplingLearner, StepKey
from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.recipes.paths import innermost, kind_of
from mixcl.registry import thawed

SMALLEST, LARGEST = 4, 32
"""Images of a trial step: half of them are mixed in some methods, and normalise two rows; more would take long."""


def synthetic_images(dataset: ConfigDict, number: int, channels: int = 3, size: int = 64) -> ConfigDict:
    """Return a data set of synthetic images that go through the pipeline of another one, however deep it is nested."""
    pipeline = innermost(dataset).pipeline  # which crops to its own size
    return ConfigDict(type='SyntheticImages', num_images=number, image_size=size, channels=channels, pipeline=pipeline)


def synthetic_batch(cfg: Config, model: Learner, batch_size: int, views: str) -> dict:
    """Return a batch of a config's own views of synthetic images, as its loader collates it; of APS the first chunk."""
    loader_cfg = thawed(cfg.train_dataloader)
    loader_cfg.update(batch_size=batch_size, num_workers=0, persistent_workers=False, pin_memory=False)
    for name in ('prefetch_factor', 'timeout', 'multiprocessing_context'):  # torch refuses them without workers
        loader_cfg.pop(name, None)
    loader_cfg.sampler.pop('multiple_of', None)  # of a step that accumulates
    images = synthetic_images(loader_cfg.dataset, batch_size, cfg.model.backbone.get('in_channels', 3))
    loader_cfg.dataset = dict(type='KeyedDataset', dataset=images, views=views)
    batch = next(iter(Runner.build_dataloader(loader_cfg, seed=0)))
    return model.chunk(batch, 0) if isinstance(model, PatchSamplingLearner) else batch


def try_step(cfg: Config, model: nn.Module, processes: int) -> None:
    """Let a fresh model of a pretraining config compute the losses of four images, or a few more, on the CPU.

    To be called before processes join, since in their losses they wait for each other.

    Raises:
        UserError: if a part does not fit another.
    """
    loader = cfg.get('train_dataloader') or {}
    if not isinstance(model, Learner) or kind_of(loader.get('dataset') or {}) != 'KeyedDataset':
        return
    try:
        with undisturbed_generators(), DefaultScope.overwrite_default_scope('mixcl'):
            _losses(model.train(), cfg, processes)
    except (UserError, OSError, MemoryError):
        raise
    except Exception as error:  # whatever a part raises of what another one gives it
        reason = ' '.join(str(error).split())[:300]
        raise UserError(
            f'a trial step on synthetic images fails: {type(error).__name__}: {reason}; two parts of the config do not '
            'fit, or batch is too small (MIXCL_TRACEBACK=1 shows where)'
        ) from error


def _losses(model: Learner, cfg: Config, processes: int) -> None:
    if batch := trial_batch(cfg, model, processes):
        model.begin_step(StepKey(0, 0, 0))
        with torch.no_grad():
            model(**model.data_preprocessor(batch, True), mode='loss')


def trial_batch(cfg: Config, model: Learner, processes: int) -> dict | None:
    """Return a batch of four synthetic images, or of as few more as the model takes; None if that is many."""
    loader = cfg.train_dataloader
    views, most = loader.dataset.get('views', 'pillow'), loader.batch_size * processes
    batch = synthetic_batch(cfg, model, min(SMALLEST, most), views)
    size = most if most <= SMALLEST else _smallest(model, [crops[0] for crops in batch['inputs']], most)
    if size is None:
        return None
    return synthetic_batch(cfg, model, size, views) if size > SMALLEST else batch


def _smallest(model: Learner, crops: list[Tensor], most: int) -> int | None:
    """Return the smallest batch that a model takes, since some divide it into groups; None if it is large."""
    for size in range(SMALLEST, min(most, LARGEST) + 1):
        with suppress(UserError):
            model.check_batch(crops, size, 1)
            return size
    return None
