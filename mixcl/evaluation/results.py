"""Results of evaluations: rows in one JSON file, and a table for people."""

import contextlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mixcl.errors import UserError
from mixcl.files import locked, read_regular, written_whole
from mixcl.quiet_log import tell
from mixcl.weights import RANDOM
from mixcl.weights.named import PUBLISHED

Row = dict[str, Any]
"""One finished evaluation, of one encoder by one protocol on one data set; docs/evaluation.md lists its keys."""

LISTED = 'listed'
"""Key in a protocol: the metrics that the table lists, if not all."""


class Results:
    """Rows in ``results.json``, and ``results.md`` beside it; adding a row replaces both files atomically.

    Raises:
        UserError: if the folder has a file of that name that holds no results.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        self.path = self.folder / 'results.json'
        self.rows: list[Row] = self._read()

    def finished(self, row: Mapping[str, Any]) -> Row | None:
        """Return the stored result of the same evaluation, if there is one."""
        wanted = _identity(row)
        return next((stored for stored in self.rows if _identity(stored) == wanted), None)

    def add(self, row: Row) -> None:
        """Store a result at once, in place of an earlier one of the same evaluation.

        Results that another command stored there in the meantime are kept.
        """
        with locked(self.path) as failure:
            if failure:
                tell(f'{self.path} cannot be locked ({failure}): of results stored at the same time one may be lost')
            self.rows = [stored for stored in self._read() if _identity(stored) != _identity(row)]
            self.rows.append(json.loads(json.dumps(row)))
            texts = {self.path: json.dumps(self.rows, indent=2), self.folder / 'results.md': table(self.rows)}
            for path, text in texts.items():
                with written_whole(path) as file:
                    file.write(f'{text}\n'.encode())

    def _read(self) -> list[Row]:
        try:
            rows = json.loads(read_regular(self.path, 2**28))
            table(rows)
            for row in rows:
                _identity(row)
        except (FileNotFoundError, NotADirectoryError):
            return []
        except (OSError, ValueError, TypeError, LookupError, AttributeError, RecursionError) as error:
            reason = f' ({error.strerror})' if isinstance(error, OSError) else ''
            raise UserError(
                f'{self.path} holds no results of mixcl evaluate{reason}; move it away or pass another `out`'
            ) from error
        return list(rows)


def table(rows: Sequence[Row]) -> str:
    """Format rows as Markdown: metrics beside papers' numbers ('-' if there is none), then settings of protocols.

    Metrics have two decimals, except chosen learning rates and weight decays. Training protocols show those of the
    last epoch, with the best epoch's in brackets.
    """
    lines = ['| checkpoint | protocol | data | encoder | metric | ours | paper |', '|---|---|---|---|---|---|---|']
    rows = json.loads(json.dumps(rows))  # the same types as in the file
    for row in rows:
        named = f'{_name(row)} | {row["protocol"]["name"]} | {row["data"]} | {row["encoder"]}'
        for metric in row['metrics']:
            if metric in row['protocol'].get(LISTED, row['metrics']):
                lines.append(f'| {named} | {metric} | {_ours(row, metric)} | {_papers(row, metric)} |')
    captions = dict.fromkeys(_caption(row) for row in rows)
    return '\n'.join([*lines, '', *(f'- {caption}' for caption in captions)])


def default_folder(checkpoint: str | Path) -> Path:
    """Return the folder for results, logs and checkpoints of evaluations."""
    path = Path(checkpoint).resolve()
    name = path.name if path.is_dir() or str(checkpoint) == RANDOM else f'{path.parent.name}_{path.stem}'
    if str(checkpoint).startswith(PUBLISHED):
        name = str(checkpoint).replace(':', '_').replace('/', '_')
    return Path('work_dirs/evaluation', name)


def stored_results(checkpoint: str | Path) -> list[Row]:
    """Read the results in a run's folder, or beside a checkpoint, and those where mixcl evaluate puts them."""
    path, rows = Path(checkpoint).resolve(), list[Row]()
    for place in (path if path.is_dir() else path.parent, default_folder(checkpoint)):
        with contextlib.suppress(UserError):  # another file of that name
            rows += Results(place).rows
    return rows


def _identity(row: Mapping[str, Any]) -> str:
    """Return what two results of the same evaluation have in common."""
    hashes = row['checkpoint']['sha256'], row['config']['sha256']
    return json.dumps([row['protocol'], row['data'], row['encoder'], *hashes], sort_keys=True)


def _papers(row: Row, metric: str) -> str:
    numbers = [number for number in row['paper'] if _shown_beside(number['metric'], row['metrics']) == metric]
    return ', '.join(dict.fromkeys(f'{number["value"]} ({number["source"]})' for number in numbers)) or '-'


def _shown_beside(published: str, metrics: Mapping[str, float]) -> str | None:
    """Return our metric of a published name, even with a prefix (accuracy/top1); for kNN the best, as papers omit k."""
    same = [name for name in metrics if name.rpartition('/')[2] == published]
    neighbours = [name for name in metrics if name.startswith('knn') and name.partition('_')[2] == published]
    return max(same or neighbours, key=lambda name: metrics[name], default=None)


def _ours(row: Row, metric: str) -> str:
    best = row['best'].get(metric)
    form = 'g' if metric.endswith(('_rate', '_decay')) else '.2f'
    return f'{row["metrics"][metric]:{form}}' + ('' if best is None else f' [{best:.2f}]')


def _name(row: Row) -> str:
    checkpoint = row['checkpoint']
    name = checkpoint['config_name'] or Path(checkpoint['path']).stem
    if checkpoint['sha256'] is None:
        return 'random' if checkpoint['config_name'] is None else f'random ({name})'
    return name if checkpoint['epoch'] is None else f'{name}, {checkpoint["epoch"]} epochs'


def _caption(row: Row) -> str:
    settings = {key: value for key, value in row['protocol'].items() if key not in ('name', 'encoder', LISTED)}
    parts = [f'{row["protocol"]["name"]} on {row["data"]}, `{row["config"]["path"]}`']
    parts += [f'{key}: {value}' for key, value in settings.items()]
    parts += [f'changed: {key}={value}' for key, value in row['overrides'].items()]
    return '; '.join([*parts, f'{row["precision"]}, seed {row["seed"]}'])
