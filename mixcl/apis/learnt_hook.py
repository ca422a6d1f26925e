"""Two numbers of an encoder, before and after training, that show if a run without labels learnt anything."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import torch
from mmengine.hooks import Hook
from mmengine.model import BaseModel
from mmengine.runner import Runner
from torch.nn.functional import normalize

from mixcl.datasets import KeyedDataset
from mixcl.distributed import unwrapped
from mixcl.engine.hooks import PretrainedBackboneHook
from mixcl.evaluation.untrained import untrained
from mixcl.evaluation.view_features import features_of_views
from mixcl.feature_statistics import effective_rank, uniformity
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.randomness import generator, undisturbed_generators
from mixcl.recipes.images import image_pipeline
from mixcl.recipes.paths import innermost
from mixcl.registry import HOOKS
from mixcl.visualization.gallery import Gallery
from mixcl.visualization.images_hook import side_of
from mixcl.visualization.pictured import training_set

IMAGES = 256
HOW_TO_READ = (
    'An encoder that learns finds more images again. One that collapses has a rank near 1; a rank that stays or falls '
    'says nothing else (docs/while_it_trains.md)'
)


@HOOKS.register_module()
class LearntHook(Hook):
    """Logs at the end of a run readings of its encoder on at most 256 images, beside those of a random one.

    The images are prepared as for evaluation, and the encoder is the one that embedding takes. Training is
    bit-identical with and without the hook. Checkpoints carry the readings of the start. All processes encode, as
    sharded models need.
    """

    # Runs after ProgressHook, which says that the run is over.
    priority = 'LOWEST'

    def __init__(self) -> None:
        self._before: dict[str, str] = {}
        self._finished = False

    def before_train(self, runner: Runner) -> None:
        self._finished = runner.iter >= runner.max_iters
        others = runner._load_from or any(isinstance(hook, PretrainedBackboneHook) for hook in runner.hooks)
        if self._finished or self._before:
            return
        if runner.iter == 0:
            self._read(runner, 'at the start', partial(unwrapped, runner.model))
        if runner.iter > 0 or others:
            self._read(runner, 'a random encoder', partial(untrained, runner.cfg, runner.seed))

    def _read(self, runner: Runner, when: str, model: Callable[[], BaseModel]) -> None:
        try:
            with undisturbed_generators():
                self._before[when] = str(reading(runner, model()))
        except Exception as error:  # no reason to end a run
            runner.logger.warning(f'{when} could not be looked at: {type(error).__name__}: {error}')

    def after_train(self, runner: Runner) -> None:
        if self._finished or runner.iter < runner.max_iters:  # a run that is stopped may be killed soon
            return
        self._read(runner, 'now', partial(unwrapped, runner.model))
        lines = [f'  {when}: {found}' for when, found in self._before.items()]
        text = '\n'.join([f'what the {side_of(runner)} encoder learnt:', *lines, f'  {HOW_TO_READ}'])
        runner.logger.info(text, extra=FOR_PEOPLE)

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        checkpoint['learnt'] = self._before

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        if runner._resume:
            self._before = checkpoint.get('learnt', {})


class Reading(NamedTuple):
    """Percentage of training images found again, effective rank and uniformity of their features, images, width."""

    found_again: float
    effective_rank: float
    uniformity: float
    images: int
    width: int

    def __str__(self) -> str:
        return (
            f'{self.found_again:.1f}% of {self.images} images found again, effective rank {self.effective_rank:.1f} of '
            f'{self.width}'
        )


def reading(runner: Runner, model: BaseModel) -> Reading:
    """Measure features of at most 256 training images without labels.

    An image is found again if its augmented view is nearer to it than those of all others.
    """
    cfg, side, views = runner.cfg, side_of(runner), training_set(runner.cfg, least=2)
    chosen = torch.randperm(len(views), generator=generator('learnt', runner.seed))[:IMAGES].tolist()
    plain = KeyedDataset({**innermost(cfg.train_dataloader.dataset), 'pipeline': image_pipeline(cfg)})
    features = Gallery(plain, chosen, None, ()).features(model, side)
    view = features_of_views(model, views, chosen, 1, side, runner.seed)[:, 0]
    nearest = (normalize(features, dim=1) @ normalize(view, dim=1).T).argmax(dim=1)
    found = 100 * (nearest == torch.arange(len(chosen))).float().mean()
    rank, spread = effective_rank(features).item(), uniformity(features).item()
    return Reading(found.item(), rank, spread, *features.shape)
