"""Configs by name: those that come with the package, wherever it is installed, and the user's own."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from mixcl.errors import UserError

PACKAGE = Path(__file__).resolve().parent
SCOPE = 'mixcl::'

PREFERRED = (
    *('vit-s16_folder', 'r18_folder', 'vit-s16_in1k', 'vit-s16_in100', 'vit-b16_in1k', 'r50_in1k'),
    'r18_tinyimagenet',
)
"""Names of a method's configs, without the host at the end; the first that exists is taken."""

HOSTS = ('mocov3', 'mocov2', 'dino', 'simclr', 'byol', 'simsiam', 'mocov1')
"""Hosts of methods; if none is named, the first that a method has is taken."""


def shipped(folder: str) -> Path:
    """Return the folder ``configs`` or ``tools`` of the installed package, or of the repository."""
    installed = PACKAGE / '.mim' / folder
    return (installed if installed.is_dir() else PACKAGE.parent / folder).resolve()


def known_configs(pattern: str = '*') -> dict[str, Path]:
    """Return the configs that train, by name, such as ``'patchmix/vit-s16_in1k'``.

    A pattern with ``*`` or ``?`` must match the whole name; a word without them may be any part of a name.
    """
    folder = shipped('configs')
    paths = sorted(path for path in folder.glob('*/**/*.py') if '_base_' not in path.parts)
    names = {path.relative_to(folder).with_suffix('').as_posix(): path for path in paths}
    pattern = pattern if set(pattern) & set('*?[') else f'*{pattern}*'
    return {name: path for name, path in names.items() if fnmatch(name, pattern) and not name.startswith('evaluation/')}


def find_config(name: str | Path) -> Path:
    """Find a config file by its path or name: ``patchmix/vit-s16_in1k``, ``mixcl::patchmix/vit-s16_in1k.py``.

    Raises:
        UserError: if there is none; the message offers the nearest.
    """
    if Path(name).is_file():
        return Path(name)
    stem = str(name).removeprefix(SCOPE).removesuffix('.py')
    found = shipped('configs') / f'{stem}.py'
    if found.is_file():
        return found
    if here := shipped_name(name):
        raise UserError(f'there is no config file {name} here; the one that comes with mixcl is {here}')
    parts = Path(stem).parts[-2:]
    near = get_close_matches('/'.join(parts), sorted(known_configs()))
    if len(Path(name).parts) > len(parts):  # for a path, paths are offered
        near = [f'configs/{one}.py' for one in near]
    hint = f'did you mean {" or ".join(near)}?' if near else '`mixcl configs` lists those that come with mixcl'
    raise UserError(f'there is no config file {name}; {hint}')


def shipped_name(path: str | Path) -> str | None:
    """Return the name of the config of mixcl that a path of any folder ends in; None if it ends in none."""
    parts = Path(os.path.abspath(path)).with_suffix('').parts[1:]
    names = ('/'.join(parts[start:]) for start in range(len(parts) - 1))
    return next((name for name in names if (shipped('configs') / f'{name}.py').is_file()), None)


def default_work_dir(config_path: str | Path, suffix: str = '') -> str:
    """Return ``work_dirs/<method>/<name of the config file>``; outside configs/ the method is the folder's name."""
    return str(Path('work_dirs', config_name(config_path, parents=1) + suffix))


def config_name(path: str | Path, parents: int = 0) -> str:
    """Return a config's path below ``configs/``, or elsewhere its file and ``parents`` parent folders; no suffix."""
    parts = Path(path).resolve().with_suffix('').parts[1:]
    below = len(parts) - parts[::-1].index('configs') if 'configs' in parts else max(len(parts) - 1 - parents, 0)
    return '/'.join(parts[below:])


def name_of(config: Mapping[str, Any]) -> str | None:
    """Return the name of a run for people: its own, else that of its config, which also chooses recipes."""
    found = config.get('run_name') or config.get('config_name')
    return found if isinstance(found, str) and found.isprintable() else None


def named_by_data(name: str, kind: str) -> str:
    """Replace the data set in the name of a config: 'dino/r50_in1k' gives 'dino/r50_folder'."""
    method, slash, stem = name.rpartition('/')
    backbone, *rest = stem.split('_')
    return method + slash + '_'.join([backbone, kind, *rest[1:]])


def config_of(method: str | None, model: str | None = None, teacher: str | None = None) -> Path:
    """Return the config of a method ('patchmix') or of a method in a host ('mixco/simclr'), or the config so named.

    By default the method is PatchMix, and distillation from a ``teacher``. If ``model`` is a ResNet, the config is one
    of the method's for ResNets, if it has any.

    Raises:
        UserError: if there is no such method or host; the message lists those that exist.
    """
    method = str(method or ('distillation' if teacher else 'patchmix'))
    name, _, host = method.partition('/')
    known = known_configs(f'{name}/*')
    if method in known:
        return find_config(method)
    hosts = [each for each in HOSTS if any(f'{name}/{stem}_{each}' in known for stem in PREFERRED)]
    suffixes = [f'_{host}'] if host else ['', *(f'_{each}' for each in hosts)]
    stems = [f'{name}/{stem}{suffix}' for suffix in suffixes for stem in PREFERRED]
    if 'resnet' in (model or ''):
        stems.sort(key=lambda stem: stem.startswith(f'{name}/vit'))
    found = [stem for stem in stems if stem in known]
    if found:
        return find_config(found[0])
    methods = sorted({config.partition('/')[0] for config in known_configs()} - {'transfer'})
    which = f'it has the hosts {", ".join(hosts)}' if hosts else f'choose one of {", ".join(methods)}'
    raise UserError(f'there is no method {method!r}; {which}')
