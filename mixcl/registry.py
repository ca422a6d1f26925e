"""The registries of mixcl, children of mmengine's.

A config names a class by ``type='InfoNCE'``; classes of other libraries are written with their scope, for example
``type='mmpretrain.VisionTransformer'``. Importing ``mixcl`` does not import the implementation modules: a registry
imports its own when it is first asked for a class. :func:`mixcl.register_all` does it at once.
"""

from mmengine.registry import DATA_SAMPLERS as MMENGINE_DATA_SAMPLERS
from mmengine.registry import DATASETS as MMENGINE_DATASETS
from mmengine.registry import HOOKS as MMENGINE_HOOKS
from mmengine.registry import LOOPS as MMENGINE_LOOPS
from mmengine.registry import METRICS as MMENGINE_METRICS
from mmengine.registry import MODEL_WRAPPERS as MMENGINE_MODEL_WRAPPERS
from mmengine.registry import MODELS as MMENGINE_MODELS
from mmengine.registry import OPTIM_WRAPPER_CONSTRUCTORS as MMENGINE_OPTIM_WRAPPER_CONSTRUCTORS
from mmengine.registry import OPTIM_WRAPPERS as MMENGINE_OPTIM_WRAPPERS
from mmengine.registry import OPTIMIZERS as MMENGINE_OPTIMIZERS
from mmengine.registry import PARAM_SCHEDULERS as MMENGINE_PARAM_SCHEDULERS
from mmengine.registry import TRANSFORMS as MMENGINE_TRANSFORMS
from mmengine.registry import VISBACKENDS as MMENGINE_VISBACKENDS
from mmengine.registry import VISUALIZERS as MMENGINE_VISUALIZERS
from mmengine.registry import WEIGHT_INITIALIZERS as MMENGINE_WEIGHT_INITIALIZERS
from mmengine.registry import Registry

MODELS = Registry(
    'model',
    parent=MMENGINE_MODELS,
    scope='mixcl',
    locations=[
        'mixcl.algorithms',
        'mixcl.backbones',
        'mixcl.heads',
        'mixcl.encoders',
        'mixcl.evaluation.models',
    ],
)
"""Algorithms, backbones, heads, batch normalisation, models of evaluation."""

MIXERS = Registry('mixer', scope='mixcl', locations=['mixcl.mixers'])
"""Mixers: who is mixed with whom, how much, and where."""

PAIRINGS = Registry('pairing', scope='mixcl', locations=['mixcl.mixers'])
"""Functions that say who is mixed with whom: (n, generator) to owners and partners."""

SHARES = Registry('share', scope='mixcl', locations=['mixcl.mixers'])
"""Distributions of the own share (lambda) of a mixture of two."""

LOSSES = Registry('loss', scope='mixcl', locations=['mixcl.losses'])
"""Objectives: one loss per query row."""

NEGATIVES = Registry('negatives', scope='mixcl', locations=['mixcl.losses'])
"""Kinds of extra negatives that are configured by a dict."""

TARGET_ENCODERS = Registry('target encoder', scope='mixcl', locations=['mixcl.encoders'])
"""Where the keys come from."""

DATASETS = Registry('dataset', parent=MMENGINE_DATASETS, scope='mixcl', locations=['mixcl.datasets'])
TRANSFORMS = Registry('transform', parent=MMENGINE_TRANSFORMS, scope='mixcl', locations=['mixcl.datasets'])
DATA_SAMPLERS = Registry('data sampler', parent=MMENGINE_DATA_SAMPLERS, scope='mixcl', locations=['mixcl.datasets'])
HOOKS = Registry('hook', parent=MMENGINE_HOOKS, scope='mixcl', locations=['mixcl.engine'])
LOOPS = Registry(
    'loop', parent=MMENGINE_LOOPS, scope='mixcl', locations=['mixcl.engine', 'mixcl.evaluation.feature_loop']
)
METRICS = Registry('metric', parent=MMENGINE_METRICS, scope='mixcl', locations=['mixcl.evaluation.metrics'])
PARAM_SCHEDULERS = Registry(
    'parameter scheduler', parent=MMENGINE_PARAM_SCHEDULERS, scope='mixcl', locations=['mixcl.engine']
)
OPTIM_WRAPPERS = Registry(
    'optimizer wrapper', parent=MMENGINE_OPTIM_WRAPPERS, scope='mixcl', locations=['mixcl.engine']
)
OPTIM_WRAPPER_CONSTRUCTORS = Registry(
    'optimizer wrapper constructor',
    parent=MMENGINE_OPTIM_WRAPPER_CONSTRUCTORS,
    scope='mixcl',
    locations=['mixcl.engine'],
)

MODEL_WRAPPERS = Registry('model wrapper', parent=MMENGINE_MODEL_WRAPPERS, scope='mixcl', locations=['mixcl.engine'])

# They exist so that mmengine, asked from scope 'mixcl', finds its own classes without a warning.
OPTIMIZERS = Registry('optimizer', parent=MMENGINE_OPTIMIZERS, scope='mixcl', locations=['mixcl.engine'])
WEIGHT_INITIALIZERS = Registry('weight initializer', parent=MMENGINE_WEIGHT_INITIALIZERS, scope='mixcl')
VISBACKENDS = Registry('visualization backend', parent=MMENGINE_VISBACKENDS, scope='mixcl')
VISUALIZERS = Registry('visualizer', parent=MMENGINE_VISUALIZERS, scope='mixcl')
