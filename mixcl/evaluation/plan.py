"""What a call of tools/evaluate.py will do: one config per protocol, data set and encoder, all checked beforehand."""

import copy
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.configuration import check_config, check_data_roots, check_overrides, set_data_root
from mixcl.configuration.data_roots import DATA_SECTIONS, EVALUATOR_SECTIONS
from mixcl.configuration.paths import walk
from mixcl.engine.runners.command_options import use_mixed_precision
from mixcl.engine.runners.dry_run import told_as_user_error
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.adaptation import fit, put_backbone
from mixcl.evaluation.classifier import put_classifier
from mixcl.evaluation.compose import compose, read_data_set
from mixcl.evaluation.recipes import PROTOCOLS, Recipe, data_of, family_of, find_recipe, parts_of_name, recipe_names
from mixcl.evaluation.subject import Subject
from mixcl.evaluation.training import check_trainable, keep_batch
from mixcl.registry import DATASETS

SECTIONS = frozenset((*DATA_SECTIONS, *EVALUATOR_SECTIONS, 'optim_wrapper'))
"""Parts of configs that only some protocols have."""


@dataclass(frozen=True)
class Request:
    """What the command line asks for.

    Attributes:
        configs: the folder of the configs.
        protocols: names of protocols, in the order of running.
        data: name of the data set.
        own_configs: configs that take the place of the chosen ones, by their protocol's name.
        encoder: 'online', 'target', 'all', or None for each protocol's.
        recipe: name of a recipe, for the protocols that have it; at least one must.
        roots: folders of data by the data set's name.
        overrides: of ``--cfg-options``, dotted names to values; those that begin with a protocol's name are for it.
        amp: train under bfloat16 autocast.
        processes: how many evaluate together.
    """

    configs: Path
    protocols: Sequence[str]
    data: str
    own_configs: Mapping[str, str] = field(default_factory=dict)
    encoder: str | None = None
    recipe: str | None = None
    roots: Mapping[str, str] = field(default_factory=dict)
    overrides: Mapping[str, Any] = field(default_factory=dict)
    amp: bool = False
    processes: int = 1


@dataclass(frozen=True)
class Evaluation:
    """One encoder by one protocol on one data set.

    Attributes:
        protocol: name of the protocol.
        data: name of the data set.
        encoder: 'online' or 'target'.
        path: of the recipe, or of the user's own config.
        cfg: the config, without weights and folders to write to, with the batch of one process.
        whole: the same with the batch of the recipe, as it is written.
        overrides: what the command line changed in it.
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
        """64 hexadecimal digits, the same on any number of processes."""
        return hashlib.sha256(json.dumps(self.whole.to_dict(), sort_keys=True, default=repr).encode()).hexdigest()

    @property
    def name(self) -> str:
        """A name for folders and logs; another one for another config."""
        return f'{self.protocol}_{self.data}_{self.encoder}-{self.digest[:8]}'

    @property
    def trains(self) -> bool:
        """Whether it trains something, and is not a mere test."""
        return self.cfg.get('train_cfg') is not None


def configs_by_protocol(paths: Sequence[str]) -> dict[str, str]:
    """Sort configs by ``protocol.name``.

    Raises:
        UserError: if one cannot be read, has no such name, or shares it with another.
    """
    found: dict[str, str] = {}
    for path in paths:
        name = (read_config(path).get('protocol') or {}).get('name')
        if name not in PROTOCOLS:
            raise UserError(
                f'--config {path} has protocol.name={name!r}, which is no protocol; set it to one of '
                f'{", ".join(PROTOCOLS)}'
            )
        if name in found:
            raise UserError(f'--config names two configs for the protocol {name}: {found[name]} and {path}; leave one')
        found[name] = path
    return found


def planned(request: Request, subject: Subject) -> list[Evaluation]:
    """Compose and check every config.

    Raises:
        UserError: for the first thing that cannot work: no recipe, an unknown key, missing data, weights that do not
            fit, or a classifier that is neither given nor trained.
    """
    if 'supervised' in request.protocols and subject.encoders:
        raise UserError(
            f"supervised trains from scratch, so it cannot take {subject.checkpoint}; give 'random' as the checkpoint, "
            'or choose finetune'
        )
    wanted = [(protocol, data) for protocol in request.protocols for data in data_of(protocol, request.data)]
    prefixed = [name for name in (key.partition('.')[0] for key in request.overrides) if name in PROTOCOLS]
    for option, given, used in (
        ('--config', request.own_configs, request.protocols),
        ('--cfg-options', prefixed, request.protocols),
        ('--data-root', request.roots, [data for _, data in wanted]),
    ):
        unused = [name for name in given if name not in used]
        if unused:
            raise UserError(
                f'{option} is given for {unused[0]}, but this call evaluates {", ".join(used)}; correct one of the two'
            )
    starts = [_start(request, subject, *pair) for pair in wanted]
    if request.recipe and not any(start.is_asked for start in starts):
        names = sorted({name for protocol in request.protocols for name in recipe_names(protocol)})
        raise UserError(
            f'--recipe {request.recipe}: {", ".join(request.protocols)} on {request.data} has no such recipe for this '
            f'backbone; there are {", ".join(names) or "none"}; choose another, or pass your own config by --config'
        )
    evaluations: list[Evaluation] = []
    for (protocol, data), start in zip(wanted, starts, strict=True):
        evaluations += _evaluations(request, subject, protocol, data, start, evaluations)
    return evaluations


def overrides_for(overrides: Mapping[str, Any], protocol: str) -> dict[str, Any]:
    """Those of ``--cfg-options`` that are for every protocol, and those for this one, ``knn.test_cfg...``."""
    chosen = {key: value for key, value in overrides.items() if key.partition('.')[0] not in PROTOCOLS}
    prefix = f'{protocol}.'
    return chosen | {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}


@dataclass(frozen=True)
class _Start:
    """A config with the data set in it, and the backbone to put in; whether ``--recipe`` asked for it."""

    path: Path
    cfg: Config
    backbone: Mapping | None
    is_asked: bool = False


def _start(request: Request, subject: Subject, protocol: str, data: str) -> _Start:
    own = request.own_configs.get(protocol)
    cfg = read_config(own) if own else None
    if own and cfg is not None and 'views' not in cfg:  # no recipe: it brings its own data
        return _Start(Path(own), cfg, subject.backbone)
    images = read_data_set(request.configs, data, protocol)
    backbone = subject.backbone or images.backbone.to_dict()
    family = family_of(backbone)
    place = (protocol, {data, images.get('like')}, subject.config_name, family)
    asked = find_recipe(*place, request.recipe) if request.recipe and not own else None
    row = Recipe(own) if own else asked or find_recipe(*place)
    assert row is not None  # the last row of every protocol is for anything
    path = Path(own or request.configs / f'evaluation/recipes/{row.config}.py')
    cfg = compose(cfg or read_config(path), row, images, protocol, family)
    cfg.config_name = f'evaluation/{protocol}/{parts_of_name(subject.config_name)[0] or "any"}_{data}_{path.stem}'
    return _Start(path, cfg, backbone, asked is not None)


def _evaluations(
    request: Request, subject: Subject, protocol: str, data: str, start: _Start, before: Sequence[Evaluation]
) -> Iterator[Evaluation]:
    overrides = overrides_for(request.overrides, protocol)
    finetuned = {other.encoder: other for other in before if other.protocol == 'finetune'}
    encoders = subject.encoders_for(request.encoder, (start.cfg.get('protocol') or {}).get('encoder', 'online'))
    if protocol == 'robustness' and not subject.is_classifier:
        encoders = list(finetuned) or encoders  # those that there are classifiers of
    for encoder in encoders:
        cfg = copy.deepcopy(start.cfg)
        if protocol != 'robustness' and start.backbone is not None:
            put_backbone(cfg, start.backbone, subject.config)
        _apply_options(cfg, overrides, request.roots.get(data), start.path)
        if request.amp and cfg.get('optim_wrapper'):
            use_mixed_precision(cfg)
        if protocol == 'robustness':
            trained = finetuned.get(encoder)
            put_classifier(cfg, subject, trained and trained.cfg)
            if trained and not subject.is_classifier:
                # Another recipe of fine-tuning makes another result, though it is the same model that is tested.
                cfg.protocol.update(classifier=trained.name, recipe=trained.cfg.protocol.get('recipe'))
        elif start.backbone is not None:
            fit(cfg, subject.encoders.get(encoder))
        if cfg.get('train_cfg'):
            check_trainable(cfg)
        _check_layouts(cfg)
        whole = copy.deepcopy(cfg)
        if cfg.get('train_cfg'):
            keep_batch(cfg, request.processes)  # how many processes there are does not make it another evaluation
        yield Evaluation(protocol, data, encoder, start.path, cfg, whole, overrides)


def _apply_options(cfg: Config, overrides: Mapping[str, Any], root: str | None, path: Path) -> None:
    for name in overrides:
        section, dot, _ = name.partition('.')
        if dot and section in SECTIONS and section not in cfg:
            raise UserError(
                f'--cfg-options {name}: {path} has no {section}; put the protocol that it is for in front of it, as in '
                f'linear.train_cfg.max_epochs'
            )
    check_overrides(cfg, overrides)
    cfg.merge_from_dict(dict(overrides))
    if root is not None:
        set_data_root(cfg, root)
    check_config(cfg)
    check_data_roots(cfg)


def _check_layouts(cfg: Config) -> None:
    """Ask every data set that can tell whether its folders hold what it expects: a look at lists, but not at images."""
    for _, node in walk({name: cfg[name] for name in DATA_SECTIONS if name in cfg}):
        kind = DATASETS.get(node['type']) if isinstance(node, Mapping) and isinstance(node.get('type'), str) else None
        if hasattr(kind, 'check_layout'):
            with DefaultScope.overwrite_default_scope('mixcl'), told_as_user_error(f'the data set {node["type"]}'):
                images = DATASETS.build({**copy.deepcopy(dict(node)), 'lazy_init': True})
            images.check_layout()
