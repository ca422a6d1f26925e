"""The results of evaluations: rows in one JSON file, and a table for people."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from mixcl.errors import UserError
from mixcl.files import written_whole

Row = dict[str, Any]
"""One finished evaluation, of one encoder by one protocol on one data set; docs/evaluation.md lists its keys."""

IDENTITY = ('protocol', 'data', 'encoder', 'checkpoint.sha256', 'config.sha256')
"""What two results of the same evaluation have in common."""

LISTED = 'listed'
"""In a protocol: the metrics that the table lists, where it does not list all."""


class Results:
    """Rows in ``results.json``, and ``results.md`` beside it; both are replaced as a whole whenever a row comes.

    Args:
        folder: where they lie; made when the first row comes.

    Raises:
        UserError: if the folder is a file, or there is a file in it that holds no results.
    """

    def __init__(self, folder: str | Path) -> None:
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(
                f'results cannot lie in {self.folder}, which is a file; give a folder by --out or --work-dir'
            )
        self.rows: list[Row] = self._read()

    def finished(self, row: Mapping[str, Any]) -> Row | None:
        """The stored result of the same evaluation, if there is one."""
        wanted = _identity(row)
        return next((stored for stored in self.rows if _identity(stored) == wanted), None)

    def add(self, row: Row) -> None:
        """Store a result at once, in the place of an earlier one of the same evaluation.

        What another command has stored there in the meantime is kept.
        """
        self.rows = [stored for stored in self._read() if _identity(stored) != _identity(row)]
        self.rows.append(json.loads(json.dumps(row)))
        texts = {'results.json': json.dumps(self.rows, indent=2), 'results.md': table(self.rows)}
        for name, text in texts.items():
            with written_whole(self.folder / name) as file:
                file.write(f'{text}\n'.encode())

    def _read(self) -> list[Row]:
        path = self.folder / 'results.json'
        if not path.exists():
            return []
        try:
            rows = json.loads(path.read_text(encoding='utf-8'))
            for row in rows:
                _identity(row)
        except (OSError, ValueError, TypeError, KeyError) as error:
            raise UserError(
                f'{path} holds no results of tools/evaluate.py; move it away or pass another --out'
            ) from error
        return rows


def table(rows: Sequence[Row]) -> str:
    """Markdown: every metric with the papers' numbers beside it ('-' where there is none), and what the protocols are.

    Metrics are printed with two decimals; of training protocols the last epoch's, with the best epoch's in brackets.
    """
    lines = [
        '| checkpoint | protocol | data | encoder | metric | ours | paper |',
        '|---|---|---|---|---|---|---|',
    ]
    for row in rows:
        named = f'{_name(row)} | {row["protocol"]["name"]} | {row["data"]} | {row["encoder"]}'
        listed = row['protocol'].get(LISTED, row['metrics'])
        lines += [
            f'| {named} | {metric} | {_ours(row, metric)} | {_papers(row, metric)} |'
            for metric in row['metrics']
            if metric in listed
        ]
    captions = dict.fromkeys(_caption(row) for row in rows)
    return '\n'.join([*lines, '', *(f'- {caption}' for caption in captions)])


def best_neighbours(metrics: Mapping[str, float], published: str) -> str | None:
    """Our kNN metric with the best value, such as ``knn20_top1`` for ``top1``; papers do not say which k theirs is."""
    own = [name for name in metrics if re.fullmatch(rf'knn\d+_{re.escape(published)}', name)]
    return max(own, key=lambda name: metrics[name], default=None)


def _papers(row: Row, metric: str) -> str:
    sources: dict[float, list[str]] = {}
    for number in row['paper']:
        published = number['metric']
        # Ours may have a prefix, as in accuracy/top1.
        ours = metric == published or metric.endswith(f'/{published}')
        if ours or metric == best_neighbours(row['metrics'], published):
            sources.setdefault(number['value'], []).append(number['source'])
    texts = [f'{value} ({"; ".join(dict.fromkeys(places))})' for value, places in sources.items()]
    return ', '.join(texts) or '-'


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
    settings = {
        key: value for key, value in row['protocol'].items() if key not in ('name', 'version', 'encoder', LISTED)
    }
    listed = ''.join(f'; {key}: {_plain(value)}' for key, value in settings.items())
    changed = ''.join(f'; changed: {key}={_plain(value)}' for key, value in row['overrides'].items())
    return (
        f'{row["protocol"]["name"]} on {row["data"]}, version {row["protocol"]["version"]}, `{row["config"]["path"]}`'
        f'{listed}{changed}; {row["precision"]}, seed {row["seed"]}'
    )


def _plain(value: Any) -> str:
    return ' '.join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)


def _identity(row: Mapping[str, Any]) -> str:
    parts = []
    for place in IDENTITY:
        node: Any = row
        for key in place.split('.'):
            node = node[key]
        parts.append(node)
    return json.dumps(parts, sort_keys=True)
