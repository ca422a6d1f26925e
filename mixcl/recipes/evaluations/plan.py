"""Plan of a call of mixcl evaluate: one config per protocol, data set and encoder, all checked beforehand."""

import copy
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mmengine.config import Config, ConfigDict

from mixcl.errors import UserError
from mixcl.recipes.building import check_built, check_parts
from mixcl.recipes.checking import check_config
from mixcl.recipes.data_roots import DATA_SECTIONS, check_data_roots
from mixcl.recipes.evaluating import channels_of
from mixcl.recipes.evaluations.adaptation import put_classifier
from mixcl.recipes.evaluations.composing import change, composed, short_name
from mixcl.recipes.images import image_size
from mixcl.recipes.making import made
from mixcl.recipes.overrides import facts_and_sections, merge
from mixcl.recipes.own_data import use_data_root
from mixcl.recipes.paths import holder_of_backbone, walk
from mixcl.recipes.read_only import read_only
from mixcl.recipes.reading import has_facts, read_config
from mixcl.recipes.recipe_table import PROTOCOLS, TABLE, data_of
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
        facts: what it is made of on any number of processes, as it is written to a file.
        overrides: changes from the command line.
    """

    protocol: str
    data: str
    encoder: str
    path: Path
    cfg: Config
    facts: Config
    overrides: Mapping[str, Any]

    @property
    def digest(self) -> str:
        """Digest of the config in 64 hexadecimal digits, the same on any number of processes."""
        return hashlib.sha256(json.dumps(self.facts.to_dict(), sort_keys=True, default=repr).encode()).hexdigest()

    @property
    def name(self) -> str:
        """Name for folders and logs, a different one for each config."""
        return f'{self.protocol}_{short_name(self.data)}_{self.encoder}-{self.digest[:8]}'

    @property
    def trains(self) -> bool:
        """Whether the evaluation trains something, and is not a mere test."""
        return self.cfg.get('train_cfg') is not None


def planned(
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
    recipes, roots = _by_protocol(own_configs), roots or {}
    pairs = [(protocol, name) for protocol in protocols for name in data_of(protocol, data)]
    changes = {protocol: _overrides_of(protocol, overrides or {}) for protocol in protocols}
    prefixes = {key.partition('.')[0] for key in overrides or {} if key.startswith(PREFIXES)}
    _check_names(subject, pairs, {*recipes, *roots, *prefixes})
    starts = [
        composed(subject, protocol, name, recipes.get(protocol), recipe, roots.get(name), changes[protocol])
        for protocol, name in pairs
    ]
    if recipe and not any(is_named for *_, is_named in starts):
        names = {name for protocol in protocols for row in TABLE[protocol] for name in row.names.split()} - {'*'}
        raise UserError(
            f'`recipe={recipe}`: {", ".join(protocols)} on {data} has no such recipe for this backbone; there are '
            f'{", ".join(sorted(names)) or "none"}; choose another, or pass your own by `recipe_config`'
        )
    evaluations: list[Evaluation] = []
    for (protocol, name), (path, start, _) in zip(pairs, starts, strict=True):
        finetuned: dict[str, Evaluation] = {}  # runs whose classifiers are tested
        if protocol == 'robustness' and subject.classes is None:
            finetuned = {other.encoder: other for other in evaluations if other.protocol == 'finetune'}
        for side in finetuned or subject.encoders_for(encoder, start.protocol.get('encoder')):
            facts = copy.deepcopy(start)
            facts.protocol.setdefault('encoder', side)
            _apply_options(facts, changes[protocol], roots.get(name), path)
            if amp and 'schedule' in facts:
                facts.setdefault('optim_wrapper', ConfigDict())
                use_mixed_precision(facts)
            if protocol == 'robustness':
                tuned = finetuned.get(side)
                put_classifier(facts, subject, tuned and tuned.cfg)
                if tuned:  # another recipe of fine-tuning gives another result, though the test is the same
                    facts.protocol.update(classifier=tuned.name, recipe=tuned.cfg.protocol.get('recipe'))
            cfg = made(facts, processes)
            check_config(cfg)
            _check(cfg, facts, protocol, subject, side)
            lengthen_process_timeout(cfg)
            use_launcher(cfg, launcher)
            evaluations.append(Evaluation(protocol, name, side, path, read_only(cfg), facts, changes[protocol]))
    return evaluations


def _check_names(subject: Subject, pairs: Sequence[tuple[str, str]], named: set[str]) -> None:
    """Refuse options for protocols and data sets that are not evaluated, and weights where none are taken."""
    if subject.encoders and any(protocol == 'supervised' for protocol, _ in pairs):
        raise UserError(
            f"supervised trains from scratch, so it cannot take {subject.checkpoint}; give 'random' as the checkpoint, "
            'or choose finetune'
        )
    if unused := named.difference(*pairs):
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
    """Read the user's own recipes, by the protocol that each names."""
    recipes: dict[str, tuple[Path, Config]] = {}
    for path in paths:
        cfg = read_config(path)
        protocol = cfg.get('protocol')
        name = protocol.get('name') if isinstance(protocol, Mapping) else None
        if name not in PROTOCOLS or name in recipes:
            raise UserError(
                f'`recipe_config={path}` has protocol.name={name!r}; give one for each of {", ".join(PROTOCOLS)}'
            )
        if not has_facts(cfg) or not isinstance(cfg.get('model'), Mapping):
            raise UserError(
                f'`recipe_config={path}` says no facts, or no model: let it inherit from a recipe of mixcl, such as '
                "_base_ = 'mixcl::evaluation/recipes/linear/moco.py'"
            )
        recipes[name] = Path(path), cfg
    return recipes


TRAINED = ('train_', 'val_', 'optim_wrapper', 'param_scheduler', 'optimizer', 'schedule', 'batch', 'at_once', 'measure')
"""Beginnings of the names of facts and sections that only protocols that train have."""


def _apply_options(facts: Config, overrides: Mapping[str, Any], root: str | None, path: Path) -> None:
    for name in overrides:
        if 'schedule' not in facts and name.startswith(TRAINED):
            raise UserError(
                f'`cfg_options` {name}: {path} has no {name.partition(".")[0]}, since it trains nothing; put the '
                'protocol that it is for in front of it, as in linear.schedule.epochs'
            )
    of_facts, of_sections = facts_and_sections(overrides)
    change(facts, of_facts)
    merge(facts, of_sections)
    for name in overrides:  # settings that decide a result are noted beside it
        section, _, last = name.rpartition('.')
        if section in ('test_evaluator', 'data') and last in facts.protocol:
            facts.protocol[last] = overrides[name]
    if root is not None:
        use_data_root(facts, root)


def _check(cfg: Config, facts: Config, protocol: str, subject: Subject, encoder: str) -> None:
    """Check what can be checked without loading images."""
    check_data_roots(cfg)
    if protocol != 'robustness':
        channels_of(holder_of_backbone(cfg.model), image_size(cfg), subject.encoders.get(encoder))
    (check_built if cfg.get('train_cfg') else check_parts)(cfg)
    # What a checkpoint of unknown origin brings must stay data when mmengine reads the written file.
    if '{{' in json.dumps(facts.to_dict(), default=repr):
        raise UserError(
            f'the config for {subject.checkpoint} has two braces in a value, where mmengine would fill in a variable: '
            'no config may have them; name the file of its config by `config`'
        )
    # Data sets that can do so check that their folders hold what they expect, by lists, without a look at images.
    for _, node in walk({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        kind = DATASETS.get(node['type']) if isinstance(node, Mapping) and isinstance(node.get('type'), str) else None
        if hasattr(kind, 'check_layout'):
            build(DATASETS, {**copy.deepcopy(dict(node)), 'lazy_init': True}).check_layout()
