"""The registries of mixcl, children of mmengine's.

A config names a class by ``type='InfoNCE'``; classes of other libraries are written with their scope, for example
``type='mmpretrain.VisionTransformer'``. Importing ``mixcl`` does not import the implementation modules: a registry
imports its own when it is first asked for a class.
"""

import inspect
from collections.abc import Callable, Mapping
from typing import Any

from mmengine import registry as mmengine
from mmengine.config import ConfigDict
from mmengine.config.utils import MODULE2PACKAGE
from mmengine.registry import DefaultScope, Registry

# Lets any config say _base_ = 'mixcl::patchmix/vit-s16_in1k.py'. mmengine has no other place to register it.
MODULE2PACKAGE['mixcl'] = 'mixcl'

MODELS = Registry(
    'model',
    parent=mmengine.MODELS,
    scope='mixcl',
    locations=[
        'mixcl.algorithms',
        'mixcl.backbones',
        'mixcl.heads',
        'mixcl.encoders',
        'mixcl.datasets',
        'mixcl.weights',
        'mixcl.evaluation.models',
    ],
)
"""Algorithms, backbones, heads, batch normalisation, the preprocessor of views, models for evaluation."""

MIXERS = Registry('mixer', scope='mixcl', locations=['mixcl.mixers'])
"""Mixers: which images are mixed, how much of each, and where."""

PAIRINGS = Registry('pairing', scope='mixcl', locations=['mixcl.mixers'])
"""Functions that choose which images are mixed: (n, generator) to owners and partners."""

SHARES = Registry('share', scope='mixcl', locations=['mixcl.mixers'])
"""Distributions of the owner's share (lambda) of a mixture of two."""

LOSSES = Registry('loss', scope='mixcl', locations=['mixcl.losses'])
"""Objectives: one loss per query row."""

NEGATIVES = Registry('negatives', scope='mixcl', locations=['mixcl.losses'])
"""Kinds of extra negatives that are configured by a dict."""

TARGET_ENCODERS = Registry('target encoder', scope='mixcl', locations=['mixcl.encoders', 'mixcl.weights.teacher'])
"""Target encoders, which give the keys."""

DATASETS = Registry('dataset', parent=mmengine.DATASETS, scope='mixcl', locations=['mixcl.datasets'])
TRANSFORMS = Registry('transform', parent=mmengine.TRANSFORMS, scope='mixcl', locations=['mixcl.datasets'])
DATA_SAMPLERS = Registry('data sampler', parent=mmengine.DATA_SAMPLERS, scope='mixcl', locations=['mixcl.datasets'])
HOOKS = Registry(
    'hook', parent=mmengine.HOOKS, scope='mixcl', locations=['mixcl.engine', 'mixcl.visualization.images_hook']
)
LOOPS = Registry(
    'loop', parent=mmengine.LOOPS, scope='mixcl', locations=['mixcl.engine', 'mixcl.evaluation.feature_loop']
)
METRICS = Registry('metric', parent=mmengine.METRICS, scope='mixcl', locations=['mixcl.evaluation.metrics'])
PARAM_SCHEDULERS = Registry(
    'parameter scheduler', parent=mmengine.PARAM_SCHEDULERS, scope='mixcl', locations=['mixcl.engine']
)
OPTIM_WRAPPERS = Registry(
    'optimizer wrapper', parent=mmengine.OPTIM_WRAPPERS, scope='mixcl', locations=['mixcl.engine']
)
OPTIM_WRAPPER_CONSTRUCTORS = Registry(
    'optimizer wrapper constructor',
    parent=mmengine.OPTIM_WRAPPER_CONSTRUCTORS,
    scope='mixcl',
    locations=['mixcl.engine'],
)

MODEL_WRAPPERS = Registry('model wrapper', parent=mmengine.MODEL_WRAPPERS, scope='mixcl', locations=['mixcl.engine'])
VISBACKENDS = Registry('visualization backend', parent=mmengine.VISBACKENDS, scope='mixcl', locations=['mixcl.engine'])

OPTIMIZERS = Registry('optimizer', parent=mmengine.OPTIMIZERS, scope='mixcl', locations=['mixcl.engine'])

# mixcl has none; they let mmengine find its own from scope 'mixcl' without a warning, for which it needs locations.
WEIGHT_INITIALIZERS = Registry(
    'weight initializer', parent=mmengine.WEIGHT_INITIALIZERS, scope='mixcl', locations=[__name__]
)
VISUALIZERS = Registry('visualizer', parent=mmengine.VISUALIZERS, scope='mixcl', locations=[__name__])


KEYWORD_KINDS = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)


def build(registry: Registry, config: Mapping) -> Any:
    """Build a part from its config, in which types without a scope are mixcl's."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        return registry.build(thawed(config))


def thawed(node: Any) -> Any:
    """Return a copy of a part of a config that a constructor may change; other objects are shared."""
    if isinstance(node, ConfigDict) or type(node) is dict:
        items = {key: thawed(value) for key, value in node.items()}
        return ConfigDict(items) if isinstance(node, ConfigDict) else items
    return type(node)(map(thawed, node)) if type(node) in (list, tuple) else node


def keywords_of(factory: Callable) -> dict[str, inspect.Parameter]:
    """Return the keyword arguments of a class or function; behind ``**kwargs`` of a class, also those of its bases."""
    keywords: dict[str, inspect.Parameter] = {}
    for call in _calls(factory):
        taken = inspect.signature(call).parameters.items()
        keywords = {name: each for name, each in taken if each.kind in KEYWORD_KINDS and name != 'self'} | keywords
        if not _passes_on(call):
            break
    return keywords


def takes_more(factory: Callable) -> bool:
    """Whether a class or function may take keywords that :func:`keywords_of` does not tell.

    The ``**kwargs`` of mixcl's own classes go on to their bases; elsewhere they may go anywhere.
    """
    try:
        for call in _calls(factory):
            if not _passes_on(call):
                return False
            if not call.__module__.startswith('mixcl.'):
                break
    except (TypeError, ValueError, AttributeError):  # written in C
        pass
    return True


def _calls(factory: Callable) -> list[Callable]:
    bases = factory.__mro__ if isinstance(factory, type) else ()
    return [vars(base)['__init__'] for base in bases if '__init__' in vars(base)] or [factory]


def _passes_on(call: Callable) -> bool:
    return any(each.kind is each.VAR_KEYWORD for each in inspect.signature(call).parameters.values())
