"""What a run runs on: the command, versions, the machine, and the state of the source code."""

import os
import subprocess
import sys
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from mmengine.utils.dl_utils import collect_env as collect_system


def collect_env() -> dict[str, Any]:
    """Collect mmengine's record of versions, compilers and GPUs, and what it leaves out, as values for a JSON file."""
    packages = {str(package.metadata['Name']): package.version for package in metadata.distributions()}
    return dict(
        time=datetime.now(timezone.utc).isoformat(timespec='seconds'),
        command=sys.argv,
        system={name: str(value) for name, value in collect_system().items()},
        cpu_cores=cpu_cores(),
        memory_gib=memory_gib(),
        source=source_state(),
        packages=dict(sorted(packages.items(), key=lambda item: item[0].lower())),
    )


def cpu_cores() -> int | None:
    """Count the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, 'sched_getaffinity') else os.cpu_count()


def memory_gib() -> float:
    """The memory of the machine."""
    return round(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30, 1)


def source_state(folder: Path = Path(__file__).parents[1]) -> dict[str, Any]:
    """The commit of the source code and the files that differ from it; empty outside of a git repository."""
    try:
        commit, changed, branch = (
            subprocess.run(
                ['git', '-C', str(folder), *command.split()], capture_output=True, text=True, timeout=20, check=True
            ).stdout.rstrip()
            for command in ('rev-parse HEAD', 'status --porcelain -- .', 'rev-parse --abbrev-ref HEAD')
        )
    except (OSError, subprocess.SubprocessError):
        return {}
    return dict(commit=commit, branch=branch, changed=changed.splitlines())
