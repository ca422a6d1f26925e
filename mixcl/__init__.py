"""mixcl: contrastive pretraining on mixed images, and what to do with the result.

The names below are imported when they are first used (``from mixcl import PatchMix, InfoNCE, pretrain``), so
``import mixcl`` loads neither torch nor a registry. Nor does it change the process: :mod:`mixcl.starting` does that for
commands, ``mixcl.machine.prepare()`` for other programs that train.
"""

import importlib
from typing import TYPE_CHECKING, Any

from mixcl import machine as machine

if TYPE_CHECKING:
    from mixcl.algorithms import ContrastiveLearner as ContrastiveLearner
    from mixcl.algorithms import StepKey as StepKey
    from mixcl.apis.embedding import embed as embed
    from mixcl.apis.embedding import images_in as images_in
    from mixcl.apis.embedding import load_backbone as load_backbone
    from mixcl.apis.evaluating import evaluate as evaluate
    from mixcl.apis.export import export as export
    from mixcl.apis.pretraining import pretrain as pretrain
    from mixcl.apis.training import train as train
    from mixcl.comparison.comparing import compare as compare
    from mixcl.composition import Composition as Composition
    from mixcl.encoders import EMA as EMA
    from mixcl.encoders import Shared as Shared
    from mixcl.encoders import StopGrad as StopGrad
    from mixcl.losses import DINODistillation as DINODistillation
    from mixcl.losses import InfoNCE as InfoNCE
    from mixcl.losses import NegativeCosine as NegativeCosine
    from mixcl.mixers import CutMix as CutMix
    from mixcl.mixers import Mixup as Mixup
    from mixcl.mixers import PatchMix as PatchMix
    from mixcl.mixers import RegionSwap as RegionSwap
    from mixcl.mixers import ResizeMix as ResizeMix

__version__ = '0.1.0'

_LAZY = {
    **dict.fromkeys(('ContrastiveLearner', 'StepKey'), 'mixcl.algorithms'),
    **dict.fromkeys(('embed', 'images_in', 'load_backbone'), 'mixcl.apis.embedding'),
    **dict(
        compare='mixcl.comparison.comparing',
        evaluate='mixcl.apis.evaluating',
        export='mixcl.apis.export',
        pretrain='mixcl.apis.pretraining',
        train='mixcl.apis.training',
    ),
    **dict.fromkeys(('EMA', 'Shared', 'StopGrad'), 'mixcl.encoders'),
    **dict.fromkeys(('DINODistillation', 'InfoNCE', 'NegativeCosine'), 'mixcl.losses'),
    **dict.fromkeys(('CutMix', 'Mixup', 'PatchMix', 'RegionSwap', 'ResizeMix'), 'mixcl.mixers'),
    'Composition': 'mixcl.composition',
}
"""Short names, and the modules they come from."""


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    return getattr(importlib.import_module(_LAZY[name]), name)


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
