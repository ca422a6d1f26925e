"""A step that failed, once more: same weights, same images, same random numbers."""

import copy
import math
import sys
from dataclasses import dataclass
from pathlib import Path

from mmengine.config import Config
from mmengine.dataset import default_collate
from mmengine.dist import get_rank, get_world_size
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import DefaultScope
from mmengine.utils import import_modules_from_strings
from torch import nn

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.datasets import SampleKey
from mixcl.engine.hooks.health.dump import BatchRecord, StepDump, read_dump
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators
from mixcl.registry import DATASETS, MODELS
from mixcl.weights import check_fits, non_finite, read_state_dict
from mixcl.weights.stored_config import parse_config


@dataclass
class Replay:
    """What a replayed step gave.

    Attributes:
        losses: by name, of every batch of the step.
        gradients: names of the parameters whose gradient is not finite.
        num_gradients: how many parameters have a gradient.
    """

    losses: list[dict[str, float]]
    gradients: list[str]
    num_gradients: int

    @property
    def failed(self) -> bool:
        """Whether a loss or a gradient is not finite."""
        values = [value for losses in self.losses for name, value in losses.items() if 'loss' in name]
        return bool(self.gradients) or not all(map(math.isfinite, values))


def replay_step(path: str | Path, checkpoint: str | Path | None = None, device: str = 'cpu') -> Replay:
    """Repeat the step of a dump up to its gradient, without the optimiser step.

    A step of several processes is repeated exactly by as many processes, each with its own dump; one process alone
    misses the keys that the others would have contributed.

    Args:
        path: of the dump, ``nonfinite/step_<step>_rank<rank>.json`` of a work dir.
        checkpoint: weights to start from, instead of those beside the dump.
        device: where to compute.

    Raises:
        UserError: if the dump, its weights or its data cannot be read.
    """
    dump = read_dump(path)
    if get_world_size() > 1 and (get_rank(), get_world_size()) != (dump.rank, dump.world_size):
        raise UserError(
            f'{path} is of process {dump.rank} of {dump.world_size}, not {get_rank()} of {get_world_size()}'
        )
    weights = checkpoint or (Path(path).parent / dump.weights if dump.weights else None)
    if weights is None:
        raise UserError(f'no weights were stored with {path}; give a checkpoint')
    if not all(key for batch in dump.batches for key in batch.keys):
        raise UserError(f'the samples of {path} were not made by KeyedDataset, so they cannot be made again')
    cfg = _config_of(dump, path)
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = _build_model(cfg)
        if not isinstance(model, ContrastiveLearner):
            raise UserError(f'{path} is of a {type(model).__name__}; only steps of pretraining can be replayed')
        dataset = DATASETS.build(cfg.train_dataloader.dataset)
        state = read_state_dict(weights)
        check_fits(model, state, weights)
        model.load_state_dict(state)
        model = model.to(device)
        model.train()
        optim_wrapper = build_optim_wrapper(model, cfg.optim_wrapper)
    losses = [_replay_batch(model, optim_wrapper, dataset, dump, batch) for batch in dump.batches]
    gradients = {name: p.grad for name, p in model.named_parameters() if p.grad is not None}
    return Replay(losses, non_finite(gradients), len(gradients))


def _config_of(dump: StepDump, path: str | Path) -> Config:
    """The config in a dump, read as data; of modules that it imports (custom_imports) some may lie beside its file."""
    cfg = parse_config(dump.config, str(path))
    if dump.config_folder and dump.config_folder not in sys.path:
        sys.path.insert(0, dump.config_folder)
    try:
        import_modules_from_strings(**cfg.get('custom_imports', dict(imports=None)))
    except ImportError as error:
        raise UserError(f'a module of the config stored in {path} cannot be imported: {error}') from error
    return cfg


def _build_model(cfg: Config) -> nn.Module:
    # As the Runner does, which hands the preprocessor of the top level to the model.
    preprocessor = {'data_preprocessor': cfg.data_preprocessor} if cfg.get('data_preprocessor') else {}
    return MODELS.build({**preprocessor, **cfg.model})


def _replay_batch(
    model: nn.Module, optim_wrapper: OptimWrapper, dataset: object, dump: StepDump, batch: BatchRecord
) -> dict[str, float]:
    samples = [dataset[SampleKey(*key)] for key in batch.keys]
    data = default_collate([_of_chunk(sample, batch.chunk) for sample in samples])
    key = StepKey(dump.seed, batch.step, dump.rank)
    seed_global_generators(*key)
    model.begin_step(key, batch.progress)
    with optim_wrapper.optim_context(model):
        data = model.data_preprocessor(data, True)
        outputs = model(**data, mode='loss')
    loss, log = model.parse_losses(outputs)
    optim_wrapper.backward(optim_wrapper.scale_loss(loss))
    return {name: value.item() for name, value in log.items()}


def _of_chunk(sample: dict, chunk: int) -> dict:
    """A sample as the loop of APS hands it out: with one chunk of its patches."""
    if 'tokens' not in sample['data_samples']:
        return sample
    part = copy.copy(sample['data_samples'])
    part.tokens = part.tokens[:, chunk]
    return {**sample, 'data_samples': part}
