"""Contents of the folder of a run."""

import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.visualization.curves import read_log
from mixcl.visualization.pictured import Pictured, read_pictured
from mixcl.weights.run_state import checkpoints_of
from mixcl.weights.stored_config import stored_config

WARNED = re.compile(r'^\S+ \S+ - \S+ - (?:WARNING|ERROR|CRITICAL) - (.*)$', re.M)
"""Pattern of a warning in a log file."""

BANNER = re.compile(r' - this run, in .*\n((?:  .*\n)+)')
REPEATED = re.compile(r' - how to repeat this run:\n((?:  .*\n)+)')
SYSTEM = re.compile(r'^System environment:\n(.*?)^-{9,}$', re.M | re.S)


@dataclass(frozen=True)
class RunRecord:
    """Newest run of a folder, with what it continued; accessing a part that is missing raises a UserError."""

    folder: Path
    label: str
    source: str | None = None
    data_root: str | None = None
    named: str | None = None

    def __post_init__(self) -> None:
        if not any((*self.folder.glob('*/vis_data'), *checkpoints_of(self.folder))):
            raise UserError(
                f'{self.folder} is not the folder of a run: it has neither a log (*/vis_data) nor a checkpoint'
            )

    @cached_property
    def lines(self) -> list[dict[str, Any]]:
        """Lines of the log, of all starts."""
        return read_log(self.folder)

    @property
    def has_log(self) -> bool:
        """Whether anything of the training is logged."""
        return any(self.folder.glob('*/vis_data/scalars.json'))

    @property
    def progress(self) -> tuple[int, int | None, str]:
        """Number of trained epochs, or of steps where no epochs are counted, of how many if known, and the unit."""
        last = [line for line in self.lines if 'loss' in line][-1]
        unit = 'epoch' if 'epoch' in last else 'step'
        return last[unit], self.config.train_cfg.get('max_epochs' if unit == 'epoch' else 'max_iters'), unit

    @property
    def starts(self) -> list[Path]:
        """Folders of the run's starts."""
        return [Path(start) for start in dict.fromkeys(line['start'] for line in self.lines)]

    @cached_property
    def config(self) -> Config:
        """Whole config of the last start that trained, or of the newest checkpoint, read as data: nothing runs."""
        try:
            path = self.starts[-1] / 'vis_data/config.py'
            text = path.read_text(encoding='utf-8')
        except (UserError, OSError):
            return self.trained.config
        return stored_config(dict(state_dict={}, meta=dict(cfg=text)), str(path)) or Config()

    @cached_property
    def trained(self) -> Pictured:
        """Model of the newest checkpoint, and its images."""
        return read_pictured(str(self.folder), self.named, data_root=self.data_root, source=self.source)

    @cached_property
    def log(self) -> str:
        """Text of the log files."""
        files = (start / f'{start.name}.log' for start in self.starts)
        return '\n'.join(file.read_text(encoding='utf-8', errors='replace') for file in files if file.is_file())
