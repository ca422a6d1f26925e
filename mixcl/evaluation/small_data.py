"""kNN and linear probe on data sets so small that a minute is enough."""

from collections.abc import Sequence
from functools import partial

from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.model import BaseModel
from mmengine.runner import Runner

from mixcl.evaluation.features import extract
from mixcl.evaluation.functional.knn import knn_accuracy
from mixcl.evaluation.functional.linear_probe import probe_sweep
from mixcl.experiments.paths import whole_model
from mixcl.quiet_log import quieten
from mixcl.randomness import seed_global_generators
from mixcl.registry import MODELS, build
from mixcl.weights import Encoder

NEIGHBOURS = 10

RawPixels = partial(Encoder, dict(type='torch.nn.Flatten'), None)
"""Of a data preprocessor: the encoder that gives the pixels themselves, what learnt features are compared with."""


def accuracies(runner: Runner, model: BaseModel, encoders: Sequence[str]) -> dict[str, tuple[float, float]]:
    """How well classes can be told from the frozen features of a model: by encoder, two top-1 accuracies in [0, 1].

    Of a vote among 10 neighbours, and of the linear probe that
    :func:`~mixcl.evaluation.functional.linear_probe.probe_sweep` chooses; on the images of a runner's validation loop,
    its bank to learn from, its queries to test on.
    """
    loop = runner.val_loop
    bank, bank_labels = extract(model, loop.bank_dataloader, encoders)
    queries, labels = extract(model, loop.dataloader, encoders)
    found: dict[str, tuple[float, float]] = {}
    for name in encoders:
        knn = knn_accuracy(queries[name], labels, bank[name], bank_labels, (NEIGHBOURS,))[f'knn{NEIGHBOURS}_top1']
        linear = probe_sweep(bank[name], bank_labels, queries[name], labels)['probe_top1']
        found[name] = knn / 100, linear / 100
    return found


def baseline_accuracies(runner: Runner) -> dict[str, tuple[float, float]]:
    """What to compare with: :func:`accuracies` of the raw ``pixels``, and of the ``online`` encoder as it is
    initialised, by the run's seed."""
    pixels = RawPixels(build(MODELS, runner.cfg.data_preprocessor))
    models = dict(pixels=pixels, online=untrained(runner.cfg, runner.seed))
    return {name: accuracies(runner, model, ('online',))['online'] for name, model in models.items()}


def untrained(cfg: Config, seed: int) -> BaseModel:
    """The model of a config as it is initialised, on the CPU."""
    seed_global_generators(seed, 'random encoder')
    quieten(MMLogger.get_instance('mmengine'))  # init_weights lists every parameter
    model = build(MODELS, whole_model(cfg))
    model.init_weights()
    return model
