"""Check of the names and values in a config, before its parts are built.

A constructor knows best what it takes, and :mod:`.building` asks it. This check comes before, because some slips no
constructor sees (mmengine ignores keys of ``paramwise_cfg`` that it does not know), and to say which name was meant.
"""

import difflib
import functools
import importlib.util
import inspect
import reprlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from types import NoneType, UnionType
from typing import Any, Literal, get_args, get_origin

import mmcv.cnn
import mmcv.transforms  # noqa: F401  (with mmcv.cnn: fills mmengine's registries)
from mmengine.config import Config
from mmengine.optim import OptimWrapper
from mmengine.registry import Registry
from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop, LogProcessor, TestLoop, ValLoop, set_random_seed
from mmengine.utils import get_object_from_string
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.utils.data import DataLoader

import mixcl.quiet_imports  # noqa: F401
from mixcl.errors import UserError
from mixcl.recipes.paths import RUNNER_KEYS, Path, children, readable, runner_sections
from mixcl.recipes.typed import fits, in_words, slip_of, suggested
from mixcl.registry import keywords_of, takes_more
from mixcl.setting_ranges import wrong_values

TAKEN_OUT = {
    *('type', '_scope_', '_delete_', 'priority', 'constructor', 'paramwise_cfg', 'convert_to_iter_based', 'by_epoch'),
    *('name', 'override', 'layer', 'num_batch_per_epoch', 'disable_subprocess_warning', 'requires_grad'),
}
"""Keys that mmengine, and for layers mmcv, takes out of a dict before it calls what ``type`` names."""

DEFAULT_HOOKS = ('runtime_info', 'timer', 'sampler_seed', 'logger', 'param_scheduler', 'checkpoint')
"""Hooks that mmengine's Runner has unless a config sets them to None."""

MULTIPLIED = ('bias_lr', 'bias_decay', 'norm_decay', 'dwconv_decay', 'flat_decay', 'dcn_offset_lr')
READ_BY_NAME: dict[str, tuple[str, ...]] = dict(
    auto_scale_lr=('enable', 'base_batch_size'),
    custom_keys=(),
    default_hooks=DEFAULT_HOOKS,
    env_cfg=('cudnn_benchmark', 'mp_cfg', 'dist_cfg', 'resource_limit'),
    on_trace_ready=(),
    paramwise_cfg=('bypass_duplicate', 'custom_keys', *(f'{kind}_mult' for kind in MULTIPLIED)),
)
"""Keys that mmengine reads from a dict that is no function's argument: slips of them would be ignored."""

CALLED: dict[str, Callable] = dict(
    log_processor=LogProcessor, optim_wrapper=OptimWrapper, randomness=set_random_seed, test_cfg=TestLoop,
    train_cfg=EpochBasedTrainLoop, val_cfg=ValLoop,
)  # fmt: skip
"""What mmengine calls with a dict without ``type``, by the place of the dict."""

PLAIN = (bool, int, float, str, NoneType, Literal, dict, list, tuple, Sequence)
"""Types of annotations that values are compared with."""

HAND_ON_DICTS = ('', 'mixcl', 'mmengine', 'torch')
"""Packages whose classes hand dicts on as they are; others take out some keys before."""


def check_config(cfg: Config) -> None:
    """Check the names and values of a config. Nothing is built, but the classes are imported.

    A dict with a ``type`` may have the arguments of what that names. Where a class passes others on, or another library
    takes keys out first, only what resembles an argument is refused; the rest is left to the constructor. A top-level
    name that resembles one of the Runner's is refused; any other is a variable of the config itself. Numbers lie in the
    ranges of :mod:`mixcl.setting_ranges`, plain arguments of mixcl's classes have the type of their annotation.

    Raises:
        UserError: for the first thing that is wrong, with its place and a similar name.
    """
    for name in cfg:
        if not name.startswith('_') and (known := slip_of(name, RUNNER_KEYS)):
            raise UserError(f'config: {name} is read by nothing; did you mean {known!r}?')
    for name, section in runner_sections(cfg):
        _check(section, (name,), cfg.get('default_scope') or 'mmengine', '')


def _check(node: Any, path: Path, scope: str, owner: str) -> None:
    """Check a value and everything below it; ``owner`` is the package of the class that it is an argument of."""
    of_data = path[-1] == 'pipeline' and str(path[0]).endswith('_dataloader')
    if of_data and not (isinstance(node, (list, tuple)) and node):  # data sets accept it until they load an image
        raise UserError(f'config: {readable(path)}={reprlib.repr(node)} must be a list of transforms, at least one')
    if isinstance(node, Mapping):
        scope = node.get('_scope_') or scope
        factories = _called_with(node, path, scope, owner)
        _check_keys(node, path, factories, owner)
        typed = dict(_mistyped(node, factories[0])) if factories else {}
        for key, words in (typed | dict(wrong_values(node))).items():
            raise UserError(f'config: {readable((*path, key))}={node[key]!r} must be {words}')
        owner = package_of(factories[0]) if factories else owner
    for part, child in children(node):
        _check(child, (*path, part), scope, owner)


def _called_with(node: Mapping[str, Any], path: Path, scope: str, owner: str) -> list[Callable]:
    """Return what may be called with a dict; nothing if that is not known."""
    kind, place = node.get('type'), path[-1]
    if place == 'clip_grad':
        return [clip_grad_value_ if kind == 'value' else clip_grad_norm_]
    if (isinstance(kind, str) or callable(kind)) and place not in READ_BY_NAME:
        found = found_factories(kind, scope, owner)
        if not found and (owner in ('', 'mixcl') or slip_of(str(kind), _names(scope, 'mmengine'))):
            raise _unknown(str(kind), readable(path), scope)
        return found
    if str(place).endswith('_dataloader'):
        return [DataLoader]
    if place == 'train_cfg' and not node.get('by_epoch', True):
        return [IterBasedTrainLoop]
    return [CALLED[str(place)]] if path[-2:] == (place,) and place in CALLED else []


def _check_keys(node: Mapping[str, Any], path: Path, factories: list[Callable], owner: str) -> None:
    place = str(path[-1])
    if path[-2:-1] == ('custom_keys',):  # others become options of the optimiser
        label, known, strict = 'mmengine', {'lr_mult', 'decay_mult'}, False
    elif place in READ_BY_NAME:
        label, known, strict = 'mmengine', set(READ_BY_NAME[place]), False
    elif factories:
        # The same name may live in several registries.
        given = {str(key) for key in node} - TAKEN_OUT
        factory = min(factories, key=lambda each: len(given - arguments_of(each).keys()))
        label, known = f'{package_of(factory)}.{getattr(factory, "__name__", factory)}', set(arguments_of(factory))
        strict = not takes_more(factory) and (owner in HAND_ON_DICTS or package_of(factory) == 'mixcl')
    else:
        return
    for key in (str(key) for key in node if key not in known | TAKEN_OUT):
        slip = slip_of(key, known)
        if strict or slip:
            # mmengine keeps the settings of the class that was there before.
            drop = f'; of the class that stood there before, {readable((*path, "_delete_"))}=True drops all settings'
            near = suggested(key, known)
            hint = near if 'did you mean' in near else near + drop
            raise UserError(f'config: {readable(path)} has an unknown key {key!r} for {label}{hint}')


def arguments_of(factory: Callable) -> Mapping[str, inspect.Parameter]:
    """Return the keyword arguments of a class or function; none if it is written in C."""
    try:
        return keywords_of(factory)
    except (TypeError, ValueError):
        return {}


def _mistyped(node: Mapping[str, Any], factory: Callable) -> Iterator[tuple[str, str]]:
    """Yield the keys of a dict whose plain values do not have the plain type that a class of mixcl names."""
    for key, parameter in arguments_of(factory).items() if package_of(factory) == 'mixcl' else ():
        value, kind = node.get(key), parameter.annotation
        kinds = get_args(kind) if get_origin(kind) is UnionType else (kind,)
        plain = all((get_origin(each) or each) in PLAIN for each in kinds)
        if plain and isinstance(value, (bool, int, float, str)) and not fits(value, kind):
            yield key, in_words(kind)


def package_of(factory: Callable) -> str:
    """Name the package that a class or function comes from, for example ``'mmpretrain'``."""
    return (getattr(factory, '__module__', None) or 'builtins').partition('.')[0]


def found_factories(kind: str | Callable, scope: str, owner: str = '') -> list[Callable]:
    """Return everything that ``type=kind`` may build: a name may live in several registries.

    Args:
        kind: a name, one with its package (``'mmpretrain.ImageClassifier'``, ``'torch.nn.GELU'``) or an object.
        scope: the package whose registries are asked first (``default_scope`` or ``_scope_``).
        owner: the package of the class that the dict is an argument of, whose registries are asked, too.
    """
    if callable(kind):
        return [kind]
    package, _, rest = kind.partition('.')
    registries = _registries(package) if rest else ()
    name = rest if registries else kind
    registries = registries or tuple(one for each in (scope, 'mmengine', owner) for one in _registries(each))
    found: list[Any] = [registry.module_dict[name] for registry in registries if name in registry.module_dict]
    if not found and rest and package.isidentifier():
        found = [get_object_from_string(kind)]
    return [*filter(callable, found)]


def found_type(kind: str | Callable, place: str, scope: str = 'mixcl') -> Any:
    """Return the class or function that ``type=kind`` names; raises UserError, with a similar name, for none."""
    found = found_factories(kind, scope)
    if not found:
        raise _unknown(str(kind), place, scope)
    return found[0]


def _unknown(name: str, place: str, scope: str) -> UserError:
    package, _, rest = name.partition('.')
    if rest and package.isidentifier() and importlib.util.find_spec(package) is None:
        return UserError(f'config: {place} has type={name!r}, but the package {package!r} is not installed')
    full = {
        each: each if one in (scope, 'mmengine') and not rest else f'{one}.{each}'
        for one in ([package] if rest else ['mmpretrain', 'mmengine', scope])
        for each in _names(one)
    }
    near = difflib.get_close_matches(rest or name, full, 1)
    advice = (
        f'did you mean {full[near[0]]!r}?' if near else 'for a class of your own, name its module in custom_imports'
    )
    return UserError(f'config: {place} has type={name!r}, which no registry knows; {advice}')


def _names(*packages: str) -> set[str]:
    return {name for each in packages for registry in _registries(each) for name in registry.module_dict}


@functools.cache
def _registries(package: str) -> tuple[Registry, ...]:
    """Return all registries of a package, with their classes imported; none if there is no package or registry."""
    if not package.isidentifier():
        return ()
    try:
        module = import_module(f'{package}.registry')
    except ModuleNotFoundError:
        return ()
    registries = [item for item in vars(module).values() if isinstance(item, Registry) and item.scope == package]
    try:
        for registry in registries:
            registry.import_from_location()
    except (ImportError, AssertionError) as error:
        raise UserError(f'the classes of {package} cannot be imported: {error}') from error
    return tuple(registries)
