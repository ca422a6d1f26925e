"""A config that cannot be written to, for all that comes after its check."""

import copy
from typing import Any, NoReturn

from mmengine.config import Config, ConfigDict

from mixcl.registry import thawed


def _refuse(*_: Any, **__: Any) -> NoReturn:
    raise TypeError('the config of a run is read-only, since it has been checked: change copy.deepcopy(cfg)')


class ReadOnlyDict(ConfigDict):
    """Dict of a read-only config. Its lists stay lists, since a tuple may mean something else to a class."""

    def __init__(self, content: dict) -> None:
        super().__init__()
        for key, value in dict.items(content):
            dict.__setitem__(self, key, _frozen(value))

    __setattr__ = __setitem__ = __delattr__ = __delitem__ = __ior__ = _refuse
    pop = popitem = clear = update = setdefault = merge = _refuse

    def __deepcopy__(self, memo: dict) -> ConfigDict:
        return ConfigDict({key: copy.deepcopy(value, memo) for key, value in self.items()})

    copy = __copy__ = thawed

    def __reduce_ex__(self, protocol: Any) -> tuple:
        return ConfigDict, (thawed(self),)


class ReadOnlyConfig(Config):
    """Config that refuses to be changed; ``copy.deepcopy`` gives one that does not."""

    merge_from_dict = _refuse

    def __deepcopy__(self, memo: dict) -> Config:
        return _with_dict(Config, self, copy.deepcopy(self._cfg_dict, memo))

    copy = __copy__ = copy.deepcopy


def read_only(cfg: Config) -> Config:
    """Return a config whose dicts nothing can change, with the content of another; lists stay lists."""
    return _with_dict(ReadOnlyConfig, cfg, ReadOnlyDict(cfg._cfg_dict))


def _frozen(node: Any) -> Any:
    if isinstance(node, ConfigDict) or type(node) is dict:
        return ReadOnlyDict(node)
    return type(node)(map(_frozen, node)) if type(node) in (list, tuple) else node


def _with_dict(kind: type[Config], cfg: Config, content: ConfigDict) -> Config:
    found: Config = object.__new__(kind)
    found.__dict__.update(cfg.__dict__, _cfg_dict=content)
    return found
