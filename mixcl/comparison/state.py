"""Progress of a comparison in its folder: what is finished, what failed, and what a process is working on."""

import fcntl
import json
import lzma
import zlib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from mixcl.comparison.measures import Answers, values
from mixcl.errors import UserError
from mixcl.evaluation.functional.paired_difference import packed, unpacked
from mixcl.files import written_whole


@dataclass(frozen=True)
class Result:
    """What one run with one seed, or one baseline, has shown.

    Attributes:
        name, seed: which one; a baseline has seed 0.
        settings: what it was asked for; a result of other settings does not count.
        answers: see :data:`~mixcl.comparison.measures.Answers`.
        accuracies: in percent, of protocols that say nothing about single images; readings of images without labels.
        facts: seconds, steps, passes per image and versions.
    """

    name: str
    seed: int
    settings: dict[str, Any]
    answers: Answers
    accuracies: dict[str, float]
    facts: dict[str, Any]

    def values(self, measure: str) -> np.ndarray:
        """Return (draws, images) in [0, 1], (1, 1) if only an accuracy is known, (0, 0) if the measure is missing."""
        if measure in self.accuracies:
            return np.full((1, 1), self.accuracies[measure] / 100)
        return values(self.answers, measure)

    def accuracy(self, measure: str) -> float | None:
        """Return the accuracy in percent, or None."""
        rows = self.values(measure)
        return 100 * float(rows.mean()) if rows.size else None


class State:
    """Progress in a folder: ``results/NAME-SEED.json`` of what is finished, ``runs/NAME-SEED`` of all runs.

    Args:
        stored: file of results from elsewhere, those of another folder as lines, compressed by xz; UserError if it
            cannot be read.
    """

    def __init__(self, folder: Path, stored: str | Path | None = None) -> None:
        self.folder, self.results, self.runs = folder, folder / 'results', folder / 'runs'
        for place in (self.results, self.runs):
            place.mkdir(parents=True, exist_ok=True)
        self.stored: defaultdict[tuple[str, int], list[str]] = defaultdict(list)
        for name, seed, line in _lines_of(stored) if stored else ():
            self.stored[name, seed].append(line)

    def read(self, name: str, seed: int, settings: Mapping[str, Any]) -> Result | None:
        """Return a stored result of these settings; None if there is none, or its file is damaged."""
        asked = _said(json.loads(json.dumps(settings)))
        own = read_result(self.results / f'{slug(name)}-{seed}.json')
        for found in (own, *map(_result_of, self.stored.get((name, seed), ()))):
            if found and _said(found.settings) == asked:
                return found
        return None

    def write(self, result: Result) -> None:
        """Store a result."""
        stored = asdict(result) | dict(answers={name: packed(right) for name, right in result.answers.items()})
        with written_whole(self.results / f'{slug(result.name)}-{result.seed}.json') as file:
            file.write(f'{json.dumps(stored)}\n'.encode())

    def failed(self, job_name: str, reason: str | None = None) -> str | None:
        """Note for all processes of a comparison why a run failed, or return what is noted."""
        path = self.results / f'{job_name}.failed'
        if reason is not None:
            path.write_text(reason)
        return path.read_text() if path.is_file() else None

    def forget_failures(self) -> None:
        """Let runs that failed be tried again."""
        for path in self.results.glob('*.failed'):
            path.unlink()

    @contextmanager
    def taken(self, name: str, seed: int) -> Iterator[bool]:
        """Lock a run; yield False if another process has it."""
        with (self.results / f'{slug(name)}-{seed}.lock').open('w') as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield False
            else:
                yield True


def read_result(path: Path) -> Result | None:
    """Return a stored result; None if there is none, or its file is damaged."""
    try:
        return _result_of(path.read_text())
    except (OSError, ValueError):
        return None


def _result_of(text: str) -> Result | None:
    try:
        stored = json.loads(text)
        answers = {measure: unpacked(right) for measure, right in stored.pop('answers').items()}
        return Result(answers=answers, **stored)
    except (ValueError, TypeError, LookupError, AttributeError, zlib.error):
        return None


def _said(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings that are not None, so that a result stays when there are new ones."""
    return {name: value for name, value in settings.items() if value is not None}


def _lines_of(path: str | Path) -> list[tuple[str, int, str]]:
    """Return name, seed and text of each result in a file."""
    try:
        lines = lzma.decompress(Path(path).read_bytes()).decode().splitlines()
        results = map(json.loads, lines)
        return [(result['name'], result['seed'], line) for result, line in zip(results, lines, strict=True)]
    except (OSError, ValueError, TypeError, LookupError, EOFError, lzma.LZMAError) as error:
        raise UserError(f'results={str(path)!r} cannot be read: {error}') from error


def slug(name: str) -> str:
    """Return a name for files."""
    plain = ''.join(letter if letter.isalnum() or letter in '.-=' else '_' for letter in name)
    return plain if len(plain) < 80 and plain == name else f'{plain[:80]}-{zlib.crc32(name.encode()):08x}'
