"""Plan of a call of mixcl evaluate: one config per protocol, data set and encoder, all checked beforehand."""

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.recipes.building import check_built, check_parts
from mixcl.recipes.checking import check_config
from mixcl.recipes.data_roots import DATA_SECTIONS, check_data_roots, set_data_root
from mixcl.recipes.evaluations.adaptation import fit, put_backbone, put_classifier
from mixcl.recipes.evaluations.composing import compose, keep_batch, keeping_shares, read_data_set
from mixcl.recipes.evaluations.own_data_set import fit_to_own_images, is_own, read_own_data, short_name
from mixcl.recipes.evaluations.recipes import (
    PROTOCOLS,
    TABLE,
    Recipe,
    data_of,
    family_of,
    find_recipe,
    parts_of_name,
    variant_of,
)
from mixcl.recipes.overrides import override
from mixcl.recipes.paths import RUNNER_KEYS, walk
from mixcl.recipes.reading import read_config
from mixcl.recipes.run_options import lengthen_process_timeout, use_launcher, use_mixed_precision
from mixcl.recipes.subject import Subject
from mixcl.registry import DATASETS, build

PREFIXES = tuple(f'{protocol}.' for protocol in PROTOCOLS)
"""Prefixes of ``--cfg-options`` that are for one protocol."""


@dataclass(frozen=True)
class Evaluation:
    """Evaluation of one encoder, 'online' or 'target', by one protocol on one data set.

    Attributes:
        data: name of the data set, or a source of images such as 'folder:photos'.
        path: file of the recipe, or of the user's own config.
        cfg: the config, without weights and folders to write to, with the batch of one process.
        whole: the same config with the recipe's batch, as it is written to a file.
        overrides: changes from the command line.
    """

    protocol: str
    data: str
    encoder: str
    path: Path
    cfg: Config
    whole: Config
    overrides: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Digest of the config in 64 hexadecimal digits, the same on any number of processes."""
        return hashlib.sha256(json.dumps(self.whole.to_dict(), sort_keys=True, default=repr).encode()).hexdigest()

    @property
    def name(self) -> str:
        """Name for folders and logs, a different one for each config."""
        return f'{self.protocol}_{short_name(self.data)}_{self.encoder}-{self.digest[:8]}'

    @property
    def trains(self) -> bool:
        """Whether the evaluation trains something, and is not a mere test."""
        return self.cfg.get('train_cfg') is not None


def planned(
    configs: Path,
    protocols: Sequence[str],
    data: str,
    subject: Subject,
    *,
    own_configs: Sequence[str] = (),
    encoder: str | None = None,
    recipe: str | None = None,
    roots: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
    amp: bool = False,
    launcher: str = 'none',
    processes: int = 1,
) -> list[Evaluation]:
    """Compose and check every config, in the order of the protocols.

    Arguments are the options of ``mixcl evaluate`` of that name, except for ``own_configs`` (``--recipe-config``),
    ``roots`` (by name of a data set) and ``overrides`` (``--cfg-options``; those that begin with a protocol's name are
    for that protocol).

    Raises:
        UserError: for the first thing that cannot work: no recipe, an unknown key, missing data, weights that do not
            fit, or a classifier that is neither given nor trained.
    """
    own, roots, overrides = _by_protocol(own_configs), roots or {}, overrides or {}
    wanted = [(protocol, name) for protocol in protocols for name in data_of(protocol, data)]
    prefixes = {key.partition('.')[0] for key in overrides if key.startswith(PREFIXES)}
    _check_asked(subject, wanted, {*own, *roots, *prefixes})
    starts = [_composed(configs, subject, *pair, own.get(pair[0]), recipe, roots) for pair in wanted]
    if recipe and not any(asked for *_, asked in starts):
        names = {name for protocol in protocols for row in TABLE[protocol] for name in row.names.split()} - {'*'}
        raise UserError(
            f'`recipe={recipe}`: {", ".join(protocols)} on {data} has no such recipe for this backbone; there are '
            f'{", ".join(sorted(names)) or "none"}; choose another, or pass your own by `recipe_config`'
        )
    evaluations: list[Evaluation] = []
    for (protocol, name), (path, start, _) in zip(wanted, starts, strict=True):
        finetuned: dict[str, Evaluation] = {}  # runs whose classifiers are tested
        if protocol == 'robustness' and subject.classes is None:
            finetuned = {other.encoder: other for other in evaluations if other.protocol == 'finetune'}
        changes = _overrides_of(protocol, overrides)
        for each in finetuned or subject.encoders_for(encoder, start.protocol.get('encoder')):
            cfg = copy.deepcopy(start)
            cfg.protocol.setdefault('encoder', each)
            _apply_options(cfg, changes, roots.get(name), path)
            if amp and cfg.get('train_cfg'):
                use_mixed_precision(cfg)
            _complete(cfg, protocol, subject, each, finetuned.get(each))
            whole = copy.deepcopy(cfg)
            keep_batch(cfg, processes)  # after the copy: the number of processes does not make it another evaluation
            lengthen_process_timeout(cfg)
            use_launcher(cfg, launcher)
            evaluations.append(Evaluation(protocol, name, each, path, cfg, whole, changes))
    return evaluations


def _check_asked(subject: Subject, wanted: Sequence[tuple[str, str]], given: set[str]) -> None:
    """Refuse options for protocols and data sets that are not evaluated, and weights where none are taken."""
    if subject.encoders and any(protocol == 'supervised' for protocol, _ in wanted):
        raise UserError(
            f"supervised trains from scratch, so it cannot take {subject.checkpoint}; give 'random' as the checkpoint, "
            'or choose finetune'
        )
    if unused := given.difference(*wanted):
        raise UserError(
            f'`recipe_config`, `data_root` or `cfg_options` is given for {", ".join(sorted(unused))}, which this call '
            'does not evaluate; leave it out, or add it to `protocols`'
        )


def _overrides_of(protocol: str, overrides: Mapping[str, Any]) -> dict[str, Any]:
    """Return the overrides for every protocol, and after them those that begin with the name of this one."""
    prefix = f'{protocol}.'
    common = {key: value for key, value in overrides.items() if not key.startswith(PREFIXES)}
    return common | {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}


def _by_protocol(paths: Sequence[str]) -> dict[str, tuple[Path, Config]]:
    found: dict[str, tuple[Path, Config]] = {}
    for path in paths:
        cfg = read_config(path)
        name = (cfg.get('protocol') or {}).get('name')
        if name not in PROTOCOLS or name in found:
            raise UserError(
                f'`recipe_config={path}` has protocol.name={name!r}; give one for each of {", ".join(PROTOCOLS)}'
            )
        found[name] = Path(path), cfg
    return found


def _composed(
    configs: Path,
    subject: Subject,
    protocol: str,
    data: str,
    own: tuple[Path, Config] | None,
    asked: str | None,
    roots: Mapping[str, str],
) -> tuple[Path, Config, bool]:
    """Return a recipe's path, its config with data set and backbone, and whether ``--recipe`` asked for it."""
    found, backbone = None, subject.backbone
    if own and 'views' not in own[1]:  # no recipe: it brings its own data
        path, cfg = own[0], copy.deepcopy(own[1])
    else:
        if is_own(data):
            images = read_own_data(configs, data, protocol, subject.config, roots.get(data))
        else:
            images = read_data_set(configs, data, protocol)
        backbone = backbone or images.backbone.to_dict()
        family = family_of(backbone)
        names = {data, images.get('like')}
        place = (protocol, names, subject.config_name, family)
        found = find_recipe(*place, asked) if asked and not own else None
        row = Recipe(str(own[0])) if own else found or find_recipe(*place)
        assert row is not None  # the last row of every protocol is for anything
        path = own[0] if own else configs / f'evaluation/recipes/{row.config}.py'
        recipe = own[1] if own else read_config(path)
        variant = {} if own else variant_of(recipe, names, subject.config_name, row.percent)
        cfg = compose(recipe, variant, images, protocol, family, row.percent)
        if is_own(data):
            fit_to_own_images(cfg, images)
        backbone_name = parts_of_name(subject.config_name)[0] or 'any'
        cfg.config_name = f'evaluation/{protocol}/{backbone_name}_{short_name(data)}_{path.stem}'
    if backbone is not None and protocol != 'robustness':
        put_backbone(cfg, backbone, subject.config)
    return path, cfg, found is not None


def _apply_options(cfg: Config, overrides: Mapping[str, Any], root: str | None, path: Path) -> None:
    for name in overrides:
        section, dot, _ = name.partition('.')
        if dot and section in RUNNER_KEYS and section not in cfg:
            raise UserError(
                f'`cfg_options` {name}: {path} has no {section}; put the protocol that it is for in front of it, as in '
                f'linear.train_cfg.max_epochs'
            )
    with keeping_shares(cfg, overrides):
        override(cfg, overrides)
    for name in overrides:  # settings that decide a result are noted beside it
        section, _, last = name.rpartition('.')
        if section in ('test_evaluator', 'train_dataloader.dataset.dataset') and last in cfg.protocol:
            cfg.protocol[last] = overrides[name]
    if root is not None:
        set_data_root(cfg, root)
    check_config(cfg)
    check_data_roots(cfg)


def _complete(cfg: Config, protocol: str, subject: Subject, encoder: str, finetuned: Evaluation | None) -> None:
    """Put what the weights decide into a config, in place, and check what can be checked without loading images."""
    if protocol == 'robustness':
        put_classifier(cfg, subject, finetuned and finetuned.cfg)
        if finetuned:  # another recipe of fine-tuning gives another result, though the test is the same
            cfg.protocol.update(classifier=finetuned.name, recipe=finetuned.cfg.protocol.get('recipe'))
    else:
        fit(cfg, subject.encoders.get(encoder))
    (check_built if cfg.get('train_cfg') else check_parts)(cfg)
    # What a checkpoint of unknown origin brings must stay data when mmengine reads the written file.
    if '{{' in json.dumps(cfg.to_dict(), default=repr):
        raise UserError(
            f'the config for {subject.checkpoint} has two braces in a value, where mmengine would fill in a variable: '
            'no config may have them; name the file of its config by `config`'
        )
    # Data sets that can do so check that their folders hold what they expect, by lists, without a look at images.
    for _, node in walk({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        kind = DATASETS.get(node['type']) if isinstance(node, Mapping) and isinstance(node.get('type'), str) else None
        if hasattr(kind, 'check_layout'):
            build(DATASETS, {**copy.deepcopy(dict(node)), 'lazy_init': True}).check_layout()
