"""What a call of tools/evaluate.py will do: one config per protocol, data set and encoder, all checked beforehand."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.configuration import check_data_roots
from mixcl.configuration.data_roots import DATA_SECTIONS, EVALUATOR_SECTIONS
from mixcl.engine.runners.command_options import use_mixed_precision
from mixcl.engine.runners.launch import read_config
from mixcl.errors import UserError
from mixcl.evaluation.adaptation import adapt
from mixcl.evaluation.batches import keep_batch
from mixcl.evaluation.classifier import choose_classifier
from mixcl.evaluation.layouts import check_layouts
from mixcl.evaluation.selection import PROTOCOLS, data_of, families_of, find_config, has_recipe
from mixcl.evaluation.subject import Subject
from mixcl.evaluation.trainable import check_trainable

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
        recipe: variant of the configs, for the protocols that have it; at least one must.
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
        path: of the config file.
        cfg: the config, with the backbone in it, but without weights and folders to write to.
        overrides: what the command line changed in it.
        digest: of the config, as 64 hexadecimal digits.
    """

    protocol: str
    data: str
    encoder: str
    path: Path
    cfg: Config
    overrides: Mapping[str, Any]
    digest: str

    @property
    def name(self) -> str:
        """A name for folders and logs; another one for another config."""
        return f'{self.protocol}_{self.data}_{self.encoder}-{self.digest[:8]}'

    @property
    def trains(self) -> bool:
        """Whether it trains something, and is not a mere test."""
        return self.cfg.get('train_cfg') is not None

    @property
    def needs_classifier(self) -> bool:
        """Whether it tests a whole classifier, which must have been trained before."""
        return self.protocol == 'robustness'


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
    """Read, adapt and check every config.

    Raises:
        UserError: for the first thing that cannot work: no config, an unknown key, missing data, weights that do not
            fit, or a classifier that is neither given nor trained.
    """
    if 'supervised' in request.protocols and subject.encoders:
        raise UserError(
            f"supervised trains from scratch, so it cannot take {subject.checkpoint}; give 'random' as the checkpoint, "
            'or choose finetune'
        )
    _check_used('--config', request.own_configs, request.protocols)
    prefixes = {key.partition('.')[0] for key in request.overrides}
    _check_used('--cfg-options', prefixes & set(PROTOCOLS), request.protocols)
    wanted = [(protocol, data) for protocol in request.protocols for data in data_of(protocol, request.data)]
    _check_used('--data-root', request.roots, [data for _, data in wanted])
    _check_recipe(request, subject, wanted)
    evaluations: list[Evaluation] = []
    for protocol, data in wanted:
        evaluations += _of_one_config(request, subject, protocol, data, evaluations)
    return evaluations


def _check_used(option: str, given: Iterable[str], used: Sequence[str]) -> None:
    unused = [name for name in given if name not in used]
    if unused:
        raise UserError(
            f'{option} is given for {unused[0]}, but this call evaluates {", ".join(used)}; correct one of the two'
        )


def _of_one_config(
    request: Request, subject: Subject, protocol: str, data: str, before: Sequence[Evaluation]
) -> Iterator[Evaluation]:
    path = _config_path(request, subject, protocol, data)
    overrides = overrides_for(request.overrides, protocol)
    finetuned = {other.encoder: other for other in before if other.protocol == 'finetune'}
    own = read_config(path)
    _check_sections(path, own, overrides)
    of_protocol = (own.get('protocol') or {}).get('encoder', 'online')
    encoders = subject.encoders_for(request.encoder, of_protocol)
    if protocol == 'robustness' and not subject.is_classifier:
        encoders = list(finetuned) or encoders  # those that there are classifiers of
    for encoder in encoders:
        cfg = read_config(path, overrides, request.roots.get(data))
        check_data_roots(cfg)
        if request.amp and cfg.get('optim_wrapper'):
            use_mixed_precision(cfg)
        if protocol == 'robustness':
            trained = finetuned.get(encoder)
            choose_classifier(cfg, subject, trained and trained.cfg)
            if trained and not subject.is_classifier:
                # Another recipe of fine-tuning makes another result, though it is the same model that is tested.
                of_classifier = dict(classifier=trained.name, recipe=trained.cfg.protocol.get('recipe'))
                cfg.merge_from_dict(dict(protocol=of_classifier))
        elif subject.backbone is not None:
            adapt(cfg, subject.backbone, subject.config, subject.encoders.get(encoder))
        if cfg.get('train_cfg'):
            check_trainable(cfg)
        check_layouts(cfg)
        digest = hashlib.sha256(cfg.pretty_text.encode()).hexdigest()
        if cfg.get('train_cfg'):
            keep_batch(cfg, request.processes)  # how many processes there are does not make it another evaluation
        yield Evaluation(protocol, data, encoder, path, cfg, overrides, digest)


def _check_sections(path: Path, cfg: Config, overrides: Iterable[str]) -> None:
    """A protocol that does not train has no ``train_cfg`` that an override could change."""
    for name in overrides:
        section, dot, _ = name.partition('.')
        if dot and section in SECTIONS and section not in cfg:
            raise UserError(
                f'--cfg-options {name}: {path} has no {section}; put the protocol that it is for in front of it, as in '
                f'linear.train_cfg.max_epochs'
            )


def _config_path(request: Request, subject: Subject, protocol: str, data: str) -> Path:
    if protocol in request.own_configs:
        return Path(request.own_configs[protocol])
    recipe = request.recipe if _has_recipe(request, subject, protocol, data) else None
    return find_config(request.configs, protocol, data, subject.config_name, recipe, families_of(subject.backbone))


def _has_recipe(request: Request, subject: Subject, protocol: str, data: str) -> bool:
    """Whether a protocol has a config of the recipe that is asked for; others are evaluated without it."""
    families = families_of(subject.backbone)
    asked = request.recipe is not None
    return asked and has_recipe(request.configs, protocol, data, subject.config_name, request.recipe, families)


def _check_recipe(request: Request, subject: Subject, wanted: Sequence[tuple[str, str]]) -> None:
    """A recipe that nothing in this call has is a mistake."""
    chosen = [pair for pair in wanted if pair[0] not in request.own_configs]
    if request.recipe is None or any(_has_recipe(request, subject, *pair) for pair in chosen):
        return
    if not chosen:
        raise UserError(
            f'--recipe {request.recipe} chooses among configs, but --config gives that of every protocol: leave out '
            'one of the two'
        )
    families = families_of(subject.backbone)
    find_config(request.configs, *chosen[0], subject.config_name, request.recipe, families)  # says what there is


def overrides_for(overrides: Mapping[str, Any], protocol: str) -> dict[str, Any]:
    """Those of ``--cfg-options`` that are for every protocol, and those for this one, ``knn.test_cfg...``."""
    chosen = {key: value for key, value in overrides.items() if key.partition('.')[0] not in PROTOCOLS}
    prefix = f'{protocol}.'
    return chosen | {key.removeprefix(prefix): value for key, value in overrides.items() if key.startswith(prefix)}
