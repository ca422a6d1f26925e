"""What is compared: runs, seeds, measures and pairs, from words of a command line or from a file."""

import shlex
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from mmengine.config import Config

from mixcl.command_line import add_overrides
from mixcl.comparison.measures import BASELINES, FROZEN, MEASURES, NETWORKS, TUNED, protocol_of
from mixcl.errors import UserError
from mixcl.files import written_whole
from mixcl.recipes.reading import is_data_set, refusing
from mixcl.recipes.recipe_table import PROTOCOLS, data_of_name
from mixcl.recipes.typed import check_keys, typed
from mixcl.shipped import config_name, config_of, find_config
from mixcl.weights import RANDOM


@dataclass(frozen=True)
class Run:
    """One of the things that are compared; what is None is that of the config, or fits the images.

    Attributes:
        config: name of a method or config, or a file.
        options: overrides by dotted names, as ``--cfg-options`` takes them.
        data, model, image_size, epochs, batch_size, lr: as ``mixcl pretrain`` takes them.
        seeds: number of seeds, in place of the table's.
    """

    config: str
    options: dict = field(default_factory=dict)
    data: str | None = None
    model: str | None = None
    image_size: int | None = None
    epochs: int | None = None
    batch_size: int | None = None
    lr: float | None = None
    seeds: int | None = None

    def __post_init__(self) -> None:
        for name in self.options:
            if name == 'batch':
                raise UserError(f'{self.config} batch={self.options[name]!r}: write batch_size, of this run or of all')
            if name.startswith(('randomness', 'schedule.epochs')) or name in ('schedule', 'work_dir'):
                raise UserError(
                    f'{self.config} {name}={self.options[name]!r}: seeds and lengths are those of the comparison'
                )

    @property
    def path(self) -> Path:
        """The file of the config."""
        return find_config(self.config) if self.config.endswith('.py') else config_of(self.config, self.model)

    @property
    def source(self) -> str | None:
        """The images, as ``--data`` takes them: a folder needs no ``folder:`` unless a data set has its name."""
        return self.data if self.data is None or ':' in self.data or is_data_set(self.data) else f'folder:{self.data}'

    @property
    def images(self) -> str:
        """The data set that it is trained on."""
        return self.source or data_of_name(config_name(self.path))


UNLABELLED = ('found_again', 'effective_rank', 'uniformity')
"""What is measured of images without labels, see :class:`~mixcl.apis.learnt_hook.Reading`; verdicts need labels."""

USUAL = ('pixels', 'pca', 'histogram', RANDOM)
"""Baselines unless others are named."""

SHARED = ('data', 'model', 'image_size', 'epochs', 'batch_size', 'lr')
"""Settings of runs that a table may say once for all."""


@dataclass(frozen=True)
class Table:
    """A comparison.

    Attributes:
        runs: by name.
        pairs: names of a run and of the run that it is compared with; by default all others with the first.
        seeds: number of seeds, 0 and up.
        measures: protocols of ``mixcl evaluate``, those of :data:`~mixcl.comparison.measures.MEASURES`, and
            ``few_finetuned``; on another data set, ``PROTOCOL@DATA``.
        named: the measure that verdicts are about first.
        baselines: what every table shows beside the runs.
        equal: what the runs have equally much of: optimiser 'steps', encoder 'passes' (with gradient and without), or
            'time'; 'epochs' as each run says.
        evaluated: data set of the measures; by default that of the first run.
        data_root: root folder of the data.
        results: file of stored results, which count as done; relative to that of the table.
        choices: by run and setting, values of which the best in the named measure is taken, see :mod:`.choosing`.
        held_out: by name of a data set, the one to train and measure on instead while settings are chosen.
        tried: what was tried to choose settings, in sentences.
    """

    runs: dict[str, Run]
    pairs: Sequence[Sequence[str]] = ()
    seeds: int = 3
    measures: Sequence[str] = FROZEN
    named: str = FROZEN[0]
    baselines: Sequence[str] = USUAL
    equal: Literal['steps', 'passes', 'time', 'epochs'] = 'steps'
    evaluated: str | None = None
    data_root: str | None = None
    results: str | None = None
    choices: dict[str, dict[str, list]] = field(default_factory=dict)
    held_out: dict[str, str] = field(default_factory=dict)
    tried: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name in self.runs:
            if not isinstance(name, str) or not name.strip() or name in (*BASELINES, *NETWORKS):
                raise UserError(f'a run is called {name!r}: give it a name of its own, not that of a baseline')
        known = UNLABELLED if self.named in UNLABELLED else (*PROTOCOLS, *MEASURES, TUNED)
        check_keys(dict.fromkeys(protocol_of(measure) for measure in self.measures), known, 'measures')
        check_keys(dict.fromkeys(self.baselines), (*BASELINES, *NETWORKS), 'baselines')
        if self.named not in self.measures:
            raise UserError(
                f'named={self.named!r} is none of the measures {", ".join(self.measures)}; set named to the one '
                'that is judged first'
            )
        for pair in self.pairs:
            if len(pair) != 2:
                raise UserError(f'pairs: {pair!r} must be two names of runs')
            check_keys(dict.fromkeys(pair), tuple(self.runs), 'pairs')
        check_keys(self.choices, tuple(self.runs), 'choices')
        for name, settings in self.choices.items():
            for setting, values in settings.items() if isinstance(settings, dict) else [('', settings)]:
                if not setting or not isinstance(values, list) or len(values) < 2:
                    raise UserError(f'choices.{name}: {setting}={values!r} must be a list of two values or more')
                replace(self.runs[name], options={setting: values[0]})  # or it cannot be chosen
        if self.choices and (judged := self.data_of(self.named)) not in self.held_out:
            raise UserError(
                f'choices need images that no result is of: give held_out={{{judged!r}: ...}}, a data set to choose on'
            )

    def data_of(self, measure: str) -> str:
        """The data set of a measure."""
        return measure.partition('@')[2] or self.images

    @property
    def by_data(self) -> dict[str, list[str]]:
        """The measures by data set."""
        names = dict.fromkeys(map(self.data_of, self.measures))
        return {name: [measure for measure in self.measures if self.data_of(measure) == name] for name in names}

    def roots(self, data: str) -> dict[str, str]:
        """Root folder of a data set, as evaluations take it."""
        return {} if self.data_root is None else {data: self.data_root}

    @property
    def labelled(self) -> bool:
        """Whether the measures need labels."""
        return self.named not in UNLABELLED

    @property
    def compared(self) -> list[tuple[str, str]]:
        """Pairs of names."""
        first, *others = self.runs
        return [(own, host) for own, host in self.pairs] or [(other, first) for other in others]

    @property
    def images(self) -> str:
        """The data set that all runs are measured on, unless a measure has its own."""
        return self.evaluated or next(iter(self.runs.values())).images

    def with_epochs(self, epochs: Mapping[str, int]) -> 'Table':
        """Return the table with the number of epochs of each run."""
        runs = {name: replace(run, epochs=epochs[name]) for name, run in self.runs.items()}
        return replace(self, runs=runs, equal='epochs')

    def write(self, path: Path) -> None:
        """Write a file that :func:`read_table` reads."""
        values = {name: value for name, value in asdict(self).items() if value is not None}
        values['runs'] = {name: _said(run) for name, run in values['runs'].items()}
        with written_whole(path) as file:
            file.write(''.join(f'{name} = {value!r}\n' for name, value in values.items()).encode())


def _said(run: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in run.items() if value not in (None, {})}


def read_table(runs: str | Path | Sequence[str] | Mapping[str, Any], **options: Any) -> Table:
    """Read what is compared.

    Args:
        runs: words such as 'patchmix' and 'mocov3 model.objective.temperature=0.4', settings of :class:`Run` by name,
            or a file of Python with ``runs`` and other settings of :class:`Table`, and perhaps of all runs.
        **options: settings of :class:`Table`, and of all runs, in place of those of a file; None is left out.

    Raises:
        UserError: for a setting, run or measure that there is not.
    """
    words = [str(runs)] if isinstance(runs, str | Path) else [*runs]
    if isinstance(runs, Mapping):
        said: dict[str, Any] = dict(runs=dict(runs))
    elif len(words) == 1 and words[0].endswith('.py') and 'runs' in (file := _read_file(words[0])):
        said = file
    elif len(set(words)) < len(words):
        raise UserError(f'{max(words, key=words.count)!r} is named twice: every run has a name of its own')
    else:
        said = dict(runs={word: _run_of(word) for word in words})
    said |= {name: value for name, value in options.items() if value is not None}
    shared = {name: said.pop(name) for name in SHARED if name in said}
    found = said.get('runs')
    if not isinstance(found, Mapping) or not found:
        raise UserError("runs is missing: write runs = dict(NAME=dict(config='patchmix'))")
    said['runs'] = {name: shared | dict(run) if isinstance(run, Mapping) else run for name, run in found.items()}
    table = typed(Table, said, whole='the table')
    for run in table.runs.values():
        _ = run.path  # or there is none
    return table


def _read_file(path: str) -> dict[str, Any]:
    """Read the settings in a file, without what its imports and its own variables, which begin with _, have left."""
    with refusing(f'{path} cannot be read'):
        found = Config.fromfile(find_config(path)).to_dict()
    if isinstance(found.get('results'), str):
        found['results'] = str(find_config(path).parent.resolve() / found['results'])
    return {name: value for name, value in found.items() if not name.startswith('_') and not isinstance(value, type)}


def _run_of(word: str) -> dict[str, Any]:
    """Read a run as it is written on a command line: a name, and overrides."""
    try:
        name, *options = shlex.split(word) or ['']
    except ValueError as error:
        raise UserError(f'{word!r} cannot be read as a name and overrides: {error}') from error
    parser = ArgumentParser(prog=f'mixcl compare ... {word!r}')
    add_overrides(parser)
    return dict(config=name, options=parser.parse_args(['--cfg-options', *options]).cfg_options if options else {})
