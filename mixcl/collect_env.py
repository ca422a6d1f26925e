"""What a run runs on: the command, versions, the machine, and the state of the source code."""

import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from mmengine.utils.dl_utils import collect_env as collect_system


def collect_env() -> dict[str, Any]:
    """Collect mmengine's record of versions, compilers and GPUs, and what it leaves out, as values for a JSON file."""
    return dict(
        time=datetime.now(timezone.utc).isoformat(timespec='seconds'),
        command=sys.argv,
        system={name: str(value) for name, value in collect_system().items()},
        source=source_state(),
        packages=dict(sorted((one.metadata['Name'], one.version) for one in metadata.distributions())),
    )


def source_state(folder: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    """The commit of the source code and the files that differ from it; empty outside of a git repository."""
    try:
        commit, changed = (
            subprocess.run(
                ['git', '-C', str(folder), *command.split()], capture_output=True, text=True, timeout=20, check=True
            ).stdout.rstrip()
            for command in ('rev-parse HEAD', 'status --porcelain -- .')
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(commit=commit, changed=changed.splitlines())
