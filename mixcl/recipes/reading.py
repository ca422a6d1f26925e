"""Reading a config file, which is a program."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.utils import import_modules_from_strings

from mixcl.errors import UserError
from mixcl.quiet_log import quieten
from mixcl.recipes.facts import FACTS, Data, Evaluated
from mixcl.recipes.paths import RUNNER_KEYS, walk
from mixcl.recipes.typed import slip_of, with_defaults
from mixcl.shipped import config_name, find_config, shipped, shipped_name

HERE = Path()


def read_config(path: str | Path) -> Config:
    """Read a config file, or by name one that comes with mixcl, and import the modules that it names.

    The config notes its own name as ``config_name``, so that checkpoints carry it. Its keys are not checked.

    Raises:
        UserError: if the file is missing or cannot be evaluated.
    """
    quieten(MMLogger.get_instance('mmengine'))  # what is built without a Runner logs there
    path = find_config(path)
    if path.suffix != '.py':  # mmengine reads YAML by a loader that calls whatever function the file names
        raise UserError(f'the config {path} is no .py file; write it in Python')
    # Modules that a config imports (custom_imports) may lie beside it.
    folder = str(Path(path).resolve().parent)
    if folder not in sys.path:
        sys.path.append(folder)  # last: a config may have the name of a package, such as timm.py
    with refusing(f'the config {path} cannot be read'):
        cfg = Config.fromfile(path, import_custom_modules=False)
        cfg.items()  # imports what a config names by import
    _forget_own_scope(cfg)
    cfg.setdefault('config_name', config_name(path))
    if has_facts(cfg):
        for name in cfg:
            if meant := slip_of(name, FACTS | RUNNER_KEYS):
                raise UserError(f'{path}: {name} is read by nothing; did you mean {meant!r}?')
        if isinstance(cfg.get('data'), str):
            use_data_set(cfg, cfg.data, path.parent)
        for name, kind in dict(data=Data, evaluated=Evaluated).items():
            if isinstance(cfg.get(name), dict):
                cfg[name] = with_defaults(kind, cfg[name])
    import_modules(cfg)
    return cfg


def has_facts(config: Mapping[str, Any]) -> bool:
    """Whether a config says facts, and not mmengine's sections alone."""
    return bool(config.get('facts'))


def use_data_set(cfg: Config, name: str, folder: Path = HERE) -> None:
    """Put the facts of a data set into a config, in place: data, evaluated, measure and steps.

    ``name`` is that of a file of ``configs/_base_/data/``, or of one's own, FILE.py, in a folder.

    Raises:
        UserError: if there is no such file, or it says nothing about data.
    """
    path = data_file(name, folder)
    facts = read_config(path)
    if not isinstance(facts.get('data'), dict):
        raise UserError(f'data={name!r}: {path} says nothing about data')
    protocols = (facts.get('evaluated') or {}).get('protocols')
    if protocols and 'protocol' not in cfg:
        raise UserError(f'data={name!r} is for evaluations by {", ".join(protocols)} alone; pretrain on other images')
    cfg.data = facts.data
    cfg.steps = {**(cfg.get('steps') or {}), **(facts.get('steps') or {})}
    for name in {'measure', 'evaluated'} & facts.keys():
        cfg[name] = facts[name]


def is_data_set(name: str) -> bool:
    """Whether this is the name of a data set of mixcl, or a file of one's own, and no source such as folder:photos."""
    return ':' not in name and (name.endswith('.py') or (shipped('configs') / f'_base_/data/{name}.py').is_file())


def data_file(name: str, folder: Path = HERE) -> Path:
    """Return the file of a data set by name; raises UserError if there is none."""
    of_mixcl = shipped('configs') / '_base_/data'
    path = folder / name if name.endswith('.py') else of_mixcl / f'{name}.py'
    if not path.is_file():
        known = ', '.join(sorted(each.stem for each in of_mixcl.glob('*.py')))
        raise UserError(f'data={name!r}: there is no {path}; there are {known}, and a file of your own is FILE.py')
    return path


def import_modules(cfg: Config) -> None:
    """Import what ``custom_imports`` names; raises UserError if that fails."""
    settings = cfg.get('custom_imports') or dict(imports=None)
    if not isinstance(settings, dict):
        raise UserError(f"custom_imports={settings!r}: write custom_imports=dict(imports=['my_mixers'])")
    with refusing(f'custom_imports={dict(settings)!r} fails (modules lie beside the config or on PYTHONPATH)'):
        import_modules_from_strings(**settings)


def _forget_own_scope(cfg: Config) -> None:
    """Remove the ``_scope_`` that mmengine puts beside every ``type`` of a base ``mixcl::...``.

    ``default_scope`` says the same, and mmengine passes ``_scope_`` to functions such as ``collate_fn`` as an argument.
    """
    if cfg.get('default_scope') == 'mixcl':
        for _, part in walk(cfg._cfg_dict):
            if isinstance(part, dict) and part.get('_scope_') == 'mixcl':
                del part['_scope_']


@contextmanager
def refusing(what: str) -> Iterator[None]:
    """Turn whatever a config raises into a UserError: a config is a program, which may raise anything, or exit."""
    try:
        yield
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        cause = error.__context__ if isinstance(error, ImportError) and error.__context__ else error
        missing = shipped_name(cause.filename) if isinstance(cause, FileNotFoundError) and cause.filename else None
        hint = f"; for the config that comes with mixcl, write 'mixcl::{missing}.py'" if missing else ''
        raise UserError(f'{what}: {type(cause).__name__}: {" ".join(str(cause).split())}{hint}') from error
