"""What the folder of a run holds."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.configuration import set_data_root
from mixcl.errors import UserError
from mixcl.visualization.curves import starts_of
from mixcl.visualization.pictured import Pictured, read_pictured
from mixcl.visualization.stored_run import checked_run
from mixcl.weights.run_state import checkpoint_in
from mixcl.weights.stored_config import stored_config

LOGGED = re.compile(r'\S+ \S+ - \S+ - (\w+) - (.*)')
"""A line of a log file that begins a message: its level, and its first line."""

NOT_OF_THE_RUN = ('FileClient', 'HardDiskBackend', 'Failed to search registry', 'The prefix is not set')
"""What mmengine warns its own users of."""


@dataclass(frozen=True)
class RunRecord:
    """One run: its newest, with all its starts.

    Attributes:
        folder: of the run.
        label: tells it from others on the page.
        starts: the time-stamped folders of its starts with the lines of their logs, oldest first.
        source, data_root: images in the place of those of its config.
    """

    folder: Path
    label: str
    starts: dict[Path, list[dict[str, Any]]]
    source: str | None = None
    data_root: str | None = None

    @property
    def lines(self) -> list[dict[str, Any]]:
        """The lines of all starts."""
        return [line for lines in self.starts.values() for line in lines]

    @cached_property
    def config(self) -> Config:
        """The whole config of the last start; it is read as data, and nothing in it is run.

        Raises:
            UserError: if the folder holds none.
        """
        paths = [*self.folder.glob('*/vis_data/config.py')]
        if paths:
            path = max(paths, key=lambda path: (path.parents[1] in self.starts, path.parents[1].name))
            return stored_config(dict(state_dict={}, meta=dict(cfg=path.read_text(encoding='utf-8'))), path) or Config()
        if (config := self.trained.subject and self.trained.subject.config) is None:
            raise UserError(f'{self.folder} holds no config (*/vis_data/config.py), nor does its checkpoint')
        return config

    @cached_property
    def trained(self) -> Pictured:
        """The model of the newest checkpoint.

        Raises:
            UserError: if there is none, or it cannot be read.
        """
        return read_pictured(checkpoint_in(self.folder), data_root=self.data_root, source=self.source)

    @cached_property
    def mixing(self) -> Pictured:
        """The model of the newest checkpoint, or where there is none as it starts."""
        try:
            return self.trained
        except UserError:
            config = checked_run(self.config, str(self.folder))
            if self.data_root and not self.source:
                set_data_root(config, self.data_root)
            return Pictured(config, None, self.source, self.data_root)

    def environment(self, first: bool = False) -> Mapping[str, Any]:
        """What the last (or the first) start ran on; empty where that is not stored."""
        starts = list(self.starts) if first else [*reversed(self.starts)]
        for path in (folder / 'environment.json' for folder in (*starts[:1], self.folder)):
            if path.is_file():
                return json.loads(path.read_text(encoding='utf-8'))
        return {}

    def messages(self) -> Iterator[tuple[str, list[str]]]:
        """The level and the lines of every message in the log files of all starts."""
        for folder in self.starts:
            message: tuple[str, list[str]] = '', []
            path = folder / f'{folder.name}.log'
            for line in path.read_text(encoding='utf-8', errors='replace').splitlines() if path.is_file() else ():
                if begun := LOGGED.match(line):
                    yield message
                    message = begun[1], [begun[2]]
                else:
                    message[1].append(line)
            yield message

    def warnings(self) -> list[str]:
        """What was wrong, in the words of the hooks that noticed; each once."""
        found = (lines[0] for level, lines in self.messages() if level in ('WARNING', 'ERROR', 'CRITICAL'))
        return [line for line in dict.fromkeys(found) if not any(words in line for words in NOT_OF_THE_RUN)]

    def banner(self) -> list[str]:
        """What the last start said that it was about to do."""
        said = [lines[1:] for _, lines in self.messages() if lines and lines[0].startswith('this run, in ')]
        return [line.strip() for line in said[-1]] if said else []


def read_run(folder: str | Path, label: str, source: str | None = None, data_root: str | None = None) -> RunRecord:
    """Read the folder of a run.

    Args:
        folder: of the run, with the time-stamped folders of its starts.
        label: tells it from others on the page.
        source, data_root: as for :func:`~mixcl.visualization.pictured.read_pictured`.

    Raises:
        UserError: if it is no folder of a run.
    """
    folder = Path(folder)
    if not any((*folder.glob('*/vis_data'), *folder.glob('epoch_*.pth'), *folder.glob('iter_*.pth'))):
        raise UserError(
            f'{folder} is no folder of a run: it has neither a log (*/vis_data) nor a checkpoint; give the --work-dir '
            'of a training'
        )
    return RunRecord(folder, label, starts_of(folder), source, data_root)
