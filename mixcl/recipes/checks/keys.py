"""Keys that each dict of a config may have, and guesses at what a misspelt key was meant to be."""

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import torch
from mmengine.dist import init_dist
from mmengine.evaluator import Evaluator
from mmengine.hooks import Hook
from mmengine.model import BaseInit, MMDistributedDataParallel, PretrainedInit
from mmengine.optim import BaseOptimWrapper, OptimWrapper, _ParamScheduler
from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop, LogProcessor, TestLoop, ValLoop, set_random_seed
from mmengine.utils.dl_utils import set_multi_processing
from mmengine.visualization import BaseVisBackend
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader

from mixcl.recipes.checks.signature import accepted_keywords, arch_keys_of
from mixcl.recipes.checks.types import Factory, find_factories, package_of
from mixcl.recipes.paths import Path

BUILD_KEYS = frozenset({'type', '_scope_', '_delete_'})
"""Keys that mmengine takes out of any dict before it calls what ``type`` names."""

EXTRA_KEYS: tuple[tuple[type, frozenset[str]], ...] = (
    (Hook, frozenset({'priority'})),
    (BaseOptimWrapper, frozenset({'constructor', 'paramwise_cfg'})),
    (_ParamScheduler, frozenset({'convert_to_iter_based'})),
    (BaseVisBackend, frozenset({'name'})),
    (BaseInit, frozenset({'name', 'override'})),
    (PretrainedInit, frozenset({'name', 'override', 'layer'})),
)
"""Keys that mmengine takes out of the dicts of a class, by its base class."""

EXTRA_KEYS_BY_PLACE = {
    'dcn': frozenset({'deformable_groups', 'fallback_on_stride'}),
    'loss_cls': frozenset({'bg_cls_weight'}),
    'nms': frozenset({'class_agnostic', 'split_thr'}),
    'norm_cfg': frozenset({'requires_grad'}),
    'policies': frozenset({'magnitude_key', 'magnitude_range'}),
    'upsample_cfg': frozenset({'scale_factor'}),
}
"""Keys that mmcv, mmpretrain and mmdet take out of a dict under this name before they build it."""

DEFAULT_FACTORIES: dict[Path, Factory] = {
    ('compile',): torch.compile,
    ('env_cfg', 'dist_cfg'): init_dist,
    ('env_cfg', 'mp_cfg'): set_multi_processing,
    ('log_processor',): LogProcessor,
    ('model_wrapper_cfg',): MMDistributedDataParallel,
    ('randomness',): set_random_seed,
    ('test_cfg',): TestLoop,
    ('test_evaluator',): Evaluator,
    ('val_cfg',): ValLoop,
    ('val_evaluator',): Evaluator,
}
"""Class or function that mmengine calls when the dict has no ``type``."""

NO_CLASS_PLACES = frozenset({'clip_grad', 'dw_cfg', 'on_trace_ready', 'targets'})
"""Places where ``type`` is a plain word (mmengine's OptimWrapper and ProfilerHook, mmpretrain's HorNet and LoRA)."""


KINDS_OF_PARAMETERS = ('bias_decay', 'bias_lr', 'dcn_offset_lr', 'dwconv_decay', 'flat_decay', 'norm_decay')
TYPES: dict[str, Any] = {
    **dict.fromkeys(('bypass_duplicate', 'convert_to_iter_based', 'cudnn_benchmark', 'enable'), bool),
    **dict.fromkeys((*(f'{kind}_mult' for kind in KINDS_OF_PARAMETERS), 'decay_mult', 'lr_mult'), float),
}
"""Types of keys that mmengine reads and that are no function's argument."""


@dataclass(frozen=True)
class Acceptor:
    """Something that a dict may be handed to: its label for messages, and the keys that it is known to take.

    An ``open`` acceptor takes any other key, too; only slips of the known keys then count as unknown. ``arch_keys`` are
    those of its argument ``arch``, where that may be a dict and the class names them. ``types`` are the annotations.
    """

    label: str
    keys: frozenset[str]
    open: bool = False
    package: str | None = None
    arch_keys: frozenset[str] | None = None
    types: Mapping[str, Any] = field(default_factory=lambda: TYPES)

    def unknown(self, node: Iterable[str]) -> list[str]:
        """List the keys of a dict that the acceptor does not take."""
        keys = [str(key) for key in node if key not in self.keys | BUILD_KEYS]
        return [key for key in keys if meant_key(key, self.keys)] if self.open else keys


DEFAULT_HOOKS = frozenset({'runtime_info', 'timer', 'sampler_seed', 'logger', 'param_scheduler', 'checkpoint'})
"""Hooks that mmengine's Runner has unless a config sets them to None."""

SECTIONS: dict[Path, Acceptor] = {
    ('auto_scale_lr',): Acceptor('mmengine', frozenset({'enable', 'base_batch_size'})),
    ('custom_imports',): Acceptor('mmengine', frozenset({'imports', 'allow_failed_imports'})),
    ('default_hooks',): Acceptor('mmengine', DEFAULT_HOOKS, open=True),
    ('env_cfg',): Acceptor('mmengine', frozenset({'cudnn_benchmark', 'mp_cfg', 'dist_cfg', 'resource_limit'})),
}
"""Keys that mmengine reads from dicts that are no function's argument."""

PARAMWISE = Acceptor(
    'mmengine.DefaultOptimWrapperConstructor',
    frozenset({'bypass_duplicate', 'custom_keys', *(f'{kind}_mult' for kind in KINDS_OF_PARAMETERS)}),
)
"""Keys that the default constructor reads from ``paramwise_cfg``; other constructors may read more."""

PARAMWISE_RULE = Acceptor(PARAMWISE.label, frozenset({'lr_mult', 'decay_mult'}), open=True)
"""Keys that this constructor reads from the values of ``custom_keys``; others become options of the optimiser."""


def acceptors(
    node: Mapping[str, Any], path: Path, scope: str, owner: str | None = None, parent: Any = None
) -> list[Acceptor]:
    """List what the dict ``node``, an entry of ``parent``, may be handed to; empty if nothing is known about it.

    Raises:
        UserError: if its ``type`` names nothing.
    """
    place = next((part for part in reversed(path) if isinstance(part, str)), '')
    if place not in NO_CLASS_PLACES and (isinstance(node.get('type'), str) or callable(node.get('type'))):
        factories = find_factories(node['type'], scope, owner, place)
        return [_acceptor(factory, EXTRA_KEYS_BY_PLACE.get(place, frozenset())) for factory in factories]
    if path in SECTIONS:
        return [SECTIONS[path]]
    if place == 'paramwise_cfg':
        return [replace(PARAMWISE, open='constructor' in parent)]
    if path[-2:-1] == ('custom_keys',):
        return [PARAMWISE_RULE]
    if path == ('train_cfg',):
        loop = EpochBasedTrainLoop if node.get('by_epoch', True) else IterBasedTrainLoop
        return [_acceptor(loop, frozenset({'by_epoch'}))]
    if path == ('optim_wrapper',):
        return [] if 'constructor' in node else [_acceptor(OptimWrapper)]
    if place == 'clip_grad':
        return [_acceptor(clip_grad_value_ if node.get('type') == 'value' else clip_grad_norm_)]
    if place.endswith('_dataloader') and path[-1] == place:
        return [_acceptor(DataLoader, frozenset({'num_batch_per_epoch', 'disable_subprocess_warning'}))]
    return [_acceptor(DEFAULT_FACTORIES[path])] if path in DEFAULT_FACTORIES else []


def _acceptor(factory: Factory, extra: frozenset[str] = frozenset()) -> Acceptor:
    if isinstance(factory, type):
        extra = extra.union(*(keys for base, keys in EXTRA_KEYS if issubclass(factory, base)))
    names, open_ended, types = accepted_keywords(factory)
    package = package_of(factory)
    label = f'{package}.{getattr(factory, "__name__", factory)}'
    return Acceptor(label, names | extra, open_ended, package, arch_keys_of(factory), {**TYPES, **types})


def suggest(name: str, known: Iterable[str]) -> str:
    """Return ``; did you mean 'x'?`` for the most similar of the known names, or an empty string."""
    similar = difflib.get_close_matches(name, sorted(known), n=1)
    return f'; did you mean {similar[0]!r}?' if similar else ''


def meant_key(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that ``name`` (for example ``param_schedular``) is most likely a slip of, or None.

    Stricter than :func:`suggest`, for places where any other name is allowed too.
    """
    known = set(known)
    similar = difflib.get_close_matches(name, sorted(known), n=1, cutoff=0.8 if len(name) < 8 else 0.85)
    return similar[0] if similar and name not in known else None
