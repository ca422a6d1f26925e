"""mixcl: contrastive pretraining on mixed images, and what to do with the result."""

import importlib
import warnings

from mixcl import machine

machine.prepare()  # before anything here loads torch

# mmcv says this at every import, in every worker, where its compiled operators are absent. Pretraining needs none.
warnings.filterwarnings('ignore', message='Fail to import ``MultiScaleDeformableAttention``')
# Others say this to whoever trains a detector, or several processes.
warnings.filterwarnings('ignore', message='faster_coco_eval is not installed')
warnings.filterwarnings('ignore', message='Setting (OMP|MKL)_NUM_THREADS environment variable')
# Said where the first step is refused, or gradients are accumulated.
warnings.filterwarnings('ignore', message=r'Detected call of `scheduler\.step\(\)` before')

__version__ = '0.1.0'

_MODULES = (
    'mixcl.algorithms',
    'mixcl.backbones',
    'mixcl.datasets',
    'mixcl.encoders',
    'mixcl.engine',
    'mixcl.evaluation.feature_loop',
    'mixcl.evaluation.metrics',
    'mixcl.evaluation.models',
    'mixcl.heads',
    'mixcl.losses',
    'mixcl.mixers',
)


def register_all() -> None:
    """Import every module that registers a class.

    Registries also do this by themselves on first use; call this to list what exists.
    """
    for module in _MODULES:
        importlib.import_module(module)
