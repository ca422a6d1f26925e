"""kNN and linear probe on data sets so small that they take a minute."""

from collections.abc import Sequence
from functools import partial

from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.model import BaseModel
from mmengine.runner import Runner

from mixcl.evaluation.features import extract
from mixcl.evaluation.functional.knn import knn_accuracy
from mixcl.evaluation.functional.linear_probe import probe_sweep
from mixcl.quiet_log import quieten
from mixcl.randomness import seed_global_generators
from mixcl.recipes.paths import whole_model
from mixcl.registry import MODELS, build
from mixcl.weights import Encoder

NEIGHBOURS = 10

RawPixels = partial(Encoder, dict(type='torch.nn.Flatten'), None)
"""Encoder that returns the raw pixels, the baseline of learnt features; built from a data preprocessor."""


def accuracies(runner: Runner, model: BaseModel, encoders: Sequence[str]) -> dict[str, tuple[float, float]]:
    """Compute two top-1 accuracies, in [0, 1], of the frozen features of each encoder: by kNN and by a linear probe.

    kNN votes among 10 neighbours; the probe is the one that
    :func:`~mixcl.evaluation.functional.linear_probe.probe_sweep` chooses. Both learn from the bank of the runner's
    validation loop and are tested on its queries.
    """
    loop = runner.val_loop
    bank, bank_labels = extract(model, loop.bank_dataloader, encoders)
    queries, labels = extract(model, loop.dataloader, encoders)
    found: dict[str, tuple[float, float]] = {}
    for name in encoders:
        knn, _ = knn_accuracy(queries[name], labels, bank[name], bank_labels, (NEIGHBOURS,)).values()
        linear = probe_sweep(bank[name], bank_labels, queries[name], labels)['probe_top1']
        found[name] = knn / 100, linear / 100
    return found


def baseline_accuracies(runner: Runner) -> dict[str, tuple[float, float]]:
    """Compute :func:`accuracies` of raw ``pixels``, and of the ``online`` encoder as initialised by the run's seed."""
    pixels = RawPixels(build(MODELS, runner.cfg.data_preprocessor))
    models = dict(pixels=pixels, online=untrained(runner.cfg, runner.seed))
    return {name: accuracies(runner, model, ('online',))['online'] for name, model in models.items()}


def untrained(cfg: Config, seed: int) -> BaseModel:
    """Build the model of a config with its initial weights, on the CPU."""
    seed_global_generators(seed, 'random encoder')
    quieten(MMLogger.get_instance('mmengine'))  # init_weights logs every parameter
    model = build(MODELS, whole_model(cfg))
    model.init_weights()
    return model
