"""Places in a nested config: paths, the walk over all values, and the parts that many modules look for."""

import inspect
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mmengine.config import Config
from mmengine.runner import Runner

from mixcl.registry import thawed

Path = tuple[str | int, ...]
"""Keys and list indices from the top of a config, for example ``('train_dataloader', 'dataset', 'pipeline', 0)``."""

RUNNER_KEYS = frozenset(inspect.signature(Runner.__init__).parameters) - {'self', 'cfg'} | {
    'activation_checkpointing',
    'compile',
    'custom_imports',
    'efficient_conv_bn_eval',
    'find_unused_parameters',
    'model_wrapper_cfg',
    'runner_type',
    'sync_bn',
}
"""Top-level names that mmengine reads: the parameters of its Runner, and what it takes from ``cfg`` by name."""


def readable(path: Path) -> str:
    """Write a path as in Python, for example ``train_dataloader.dataset.pipeline[0]``."""
    return ''.join(f'[{part}]' if isinstance(part, int) else f'.{part}' for part in path).lstrip('.')


def dotted(path: Path) -> str:
    """Write a path as ``--cfg-options`` takes it, for example ``train_dataloader.dataset.pipeline.0``."""
    return '.'.join(map(str, path))


def children(node: Any) -> Iterator[tuple[str | int, Any]]:
    """Yield the keys (or indices) and values of a dict, list or tuple; nothing for anything else."""
    if isinstance(node, Mapping):
        yield from node.items()
    elif isinstance(node, Sequence) and not isinstance(node, (str, bytes)):
        yield from enumerate(node)


def walk(node: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value at any depth with its path, parents first."""
    yield path, node
    for key, value in children(node):
        yield from walk(value, (*path, key))


def runner_sections(cfg: Config) -> Iterator[tuple[str, Any]]:
    """Yield the top-level names that mmengine reads, with their values; the config's own variables are left out."""
    return ((name, value) for name, value in cfg.items() if name in RUNNER_KEYS)


def kind_of(part: Mapping[str, Any]) -> str:
    """Return the type of a part of a config, a name or a class, without its scope."""
    kind = part.get('type')
    return str(getattr(kind, '__name__', kind)).rpartition('.')[2]


def pretrains(config: Mapping[str, Any]) -> bool:
    """Whether a config trains a learner, as all methods do, and not a classifier or a detector."""
    return kind_of(config.get('train_cfg') or {}) in ('PretrainLoop', 'ChunkedPretrainLoop')


def innermost(dataset: Any) -> Any:
    """Return the config of the data set that others wrap."""
    while isinstance(dataset.get('dataset'), Mapping):
        dataset = dataset['dataset']
    return dataset


def holder_of_backbone(model: Any) -> Any:
    """Return the part of a model's config with the backbone itself: the model, or ``FrozenFeatures`` in it."""
    while 'backbone' in model['backbone']:
        model = model['backbone']
    return model


def mixers_of(model: Mapping[str, Any]) -> list[Any]:
    """Return the configs of a model's mixers: its own, and then those of its streams."""
    own = [model.get('mixer'), *(settings.get('mixer') for settings in (model.get('streams') or {}).values())]
    return [mixer for mixer in own if mixer]


def preprocessors_of(config: Mapping[str, Any]) -> list[Any]:
    """Return the data preprocessors of a config, which normalise its images: the model's, then the config's own, which
    counts where the model has none."""
    holders = config.get('model') or {}, config
    return [holder['data_preprocessor'] for holder in holders if holder.get('data_preprocessor')]


def whole_model(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the config of the model with the data preprocessor in it, as the Runner builds it."""
    found = preprocessors_of(config)
    return thawed(dict(config['model'], **(dict(data_preprocessor=found[0]) if found else {})))
