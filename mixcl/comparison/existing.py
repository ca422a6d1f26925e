"""Runs that exist beside each other, on the page of a comparison."""

from collections.abc import Sequence
from functools import partial
from itertools import takewhile
from pathlib import Path
from typing import Any

from mixcl.comparison.comparing import RESOLVED
from mixcl.comparison.page import PAGE, REPORT, sections, write
from mixcl.comparison.rows import Comparison
from mixcl.comparison.running import jobs_of
from mixcl.comparison.settings import settings_of
from mixcl.comparison.state import Result, State, read_result
from mixcl.comparison.table import UNLABELLED, read_table
from mixcl.errors import UserError
from mixcl.evaluation.results import LISTED
from mixcl.recipes.paths import innermost, kind_of
from mixcl.recipes.subject import default_encoder
from mixcl.visualization.curves import points_of
from mixcl.visualization.report.facts import Block, evaluated
from mixcl.visualization.report.report_page import Sections, check_page, write_report
from mixcl.visualization.report.run_record import RunRecord
from mixcl.weights import backbone_config, stored_config

NOTE = (
    'Results that mixcl evaluate has stored, and the last ones in training: mean and standard deviation over seeds. '
    'Runs whose settings differ in nothing but the seed are one row. No measure was named beforehand.'
)


def report(
    work_dirs: Sequence[str | Path], out: str | Path | None = None, source: str | None = None,
    data_root: str | None = None, configs: Sequence[str] | None = None,
) -> Path:  # fmt: skip
    """Write the page about a run, several runs, or a comparison, and return its path.

    All runs of a comparison get its page. The page about several others begins with their comparison.

    Args:
        work_dirs: folders of runs, or the folder of a comparison.
        out: the file; by default ``report.html`` in the first folder, of a comparison its own page.
        source, data_root, configs: see :func:`~mixcl.visualization.report.write_report`.

    Raises:
        UserError: if a folder is none of a run, or the file cannot be written.
    """
    folders = [Path(folder) for folder in work_dirs]
    home = _comparison_of(folders)
    if home is None:
        page = Path(out or folders[0] / REPORT)
        first = partial(_introduction, page) if len(folders) > 1 else None
        return write_report(folders, page, source, data_root, configs, first)
    if source or data_root or configs:
        raise UserError(f'{home} is a comparison, whose page shows no images: leave out `data`, `data_root`, `config`')
    page = Path(out or home / PAGE)
    check_page(page)
    stored = stored_config(dict(state_dict={}, meta=dict(cfg=(home / RESOLVED).read_text())), home / RESOLVED)
    table, state = read_table(**(stored or {})), State(home)
    failed = {job.title: reason for job in jobs_of(table, state) if (reason := state.failed(job.folder.name))}
    failed |= {
        job.title: 'its stored result is of other settings: has a file changed since?'
        for job in jobs_of(table, state)
        if job.result() is None and (state.results / f'{job.folder.name}.json').is_file()
    }
    return write(table, state, failed, page)


def _introduction(page: Path, runs: Sequence[RunRecord]) -> Sections:
    try:
        return sections(beside(runs), page)
    except UserError as error:  # such as a checkpoint without log and config
        return {'Comparison': {'': [Block('missing', str(error))]}}


def _comparison_of(folders: Sequence[Path]) -> Path | None:
    """Return the folder of a comparison, if these are it or all of its finished runs."""
    given = {folder.resolve() for folder in folders}
    for home in (folders[0].resolve(), folders[0].resolve().parent.parent):
        finished = {run for path in home.glob('results/*.json') if (run := home / 'runs' / path.stem).is_dir()}
        are_runs = finished and finished <= given and {folder.parent for folder in given} == {home / 'runs'}
        if (home / RESOLVED).is_file() and (are_runs or (given == {home} and (home / 'results').is_dir())):
            return home
    return None


def beside(runs: Sequence[RunRecord]) -> Comparison:
    """Return runs beside each other; those that differ in the seed alone are one method."""
    groups: dict[str, dict[int, RunRecord]] = {}
    for run in runs:
        seed = (run.config.get('randomness') or {}).get('seed')
        key = run.label if seed is None else repr((settings_of(run.config), run.has_log and run.progress))
        while seed in groups.get(key, {}):  # the same run once more
            key += ' '
        groups.setdefault(key, {})[seed or 0] = run
    named: dict[str, dict[int, RunRecord]] = {}
    for group in groups.values():
        labels = [run.label for run in group.values()]
        same = takewhile(lambda letters: len({*letters}) == 1, zip(*labels, strict=False))
        common = ''.join(letters[0] for letters in same).rstrip('-_./ ') if len(labels) > 1 else ''
        named[common if common and common not in named else labels[0]] = group
    found = {name: [_result(name, seed, run) for seed, run in group.items()] for name, group in named.items()}
    measures = dict.fromkeys(name for results in found.values() for result in results for name in _measures(result))
    folders = {name: {seed: run.folder for seed, run in group.items()} for name, group in named.items()}
    pairs = [(name, next(iter(named))) for name in [*named][1:]]
    return Comparison(found, [*measures], pairs, folders, note=[NOTE])


def _measures(result: Result) -> list[str]:
    return [*result.settings.get('measures', ()), *(name for name in result.accuracies if name not in UNLABELLED)]


def _result(name: str, seed: int, run: RunRecord) -> Result:
    """Return what is known of a run: its log, results of ``mixcl evaluate``, and those of a comparison."""
    accuracies, facts = _trained(run) if run.has_log else ({}, {})
    accuracies = _evaluated(run) | accuracies
    folder = run.folder.resolve()
    stored = read_result(folder.parent.parent / 'results' / f'{folder.name}.json')
    if stored is None:
        return Result(name, seed, {}, {}, accuracies, facts)

    def on_data(measure: str) -> str:
        whole, slash, part = measure.partition('/')
        return measure if '@' in measure else f'{whole}@{stored.settings["evaluated"]}{slash}{part}'

    settings = dict(measures=[on_data(measure) for measure in stored.settings['measures']])
    answers = {on_data(measure): right for measure, right in stored.answers.items()}
    known = {on_data(measure): value for measure, value in stored.accuracies.items()}
    return Result(name, seed, settings, answers, accuracies | known, facts | stored.facts)


def _evaluated(run: RunRecord) -> dict[str, float]:
    """Return the stored results of the last checkpoint; another encoder than the one that embed takes is named."""
    rows = sorted(evaluated(run), key=lambda row: row['checkpoint']['epoch'] or 0)
    accuracies = {}
    for row in rows:
        protocol, data, metrics = row['protocol']['name'], row['data'], row['metrics']
        sides = {other['encoder'] for other in rows if (other['protocol']['name'], other['data']) == (protocol, data)}
        usual = default_encoder(run.config.get('config_name'), backbone_config(run.config), sorted(sides))
        name = protocol if row['encoder'] == usual else f'{protocol} of the {row["encoder"]} encoder'
        accuracies[f'{name}@{data}'] = metrics[next(iter(row['protocol'].get(LISTED, metrics)))]
    return accuracies


def _trained(run: RunRecord) -> tuple[dict[str, float], dict[str, Any]]:
    """Return the last accuracies in training, and its length and time."""
    curves, (done, planned, _) = points_of(run.lines, 'epoch'), run.progress
    images = innermost((run.config.get('val_dataloader') or {}).get('dataset') or {})
    data = ' '.join([kind_of(images), *(str(images[key]) for key in ('data_root', 'source') if images.get(key))])
    steps = [line['step'] for line in run.lines if 'loss' in line][-1]
    facts = dict(steps=f'{steps}, unfinished' if planned and done < planned else steps)
    facts['seconds'] = 3600 * points_of(run.lines, 'hour')['loss'][-1][0]
    accuracies = {
        f'{name} in training@{data}': curve[-1][1] for name, curve in curves.items() if name.endswith('_top1')
    }
    return accuracies, facts
