"""Stores what a run ran on beside its config: the command, versions, the machine, the source code, the data."""

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Sized
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from mmengine.dataset import BaseDataset
from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.utils.dl_utils import collect_env

from mixcl.registry import HOOKS

MOST_PATHS = 10_000


@HOOKS.register_module()
class EnvironmentHook(Hook):
    """Writes ``environment.json`` into the work dir, and into the folder of this start's log.

    The resolved config lies beside it, written by mmengine.
    """

    @master_only
    def before_train(self, runner: Runner) -> None:
        record = dict(
            time=datetime.now(timezone.utc).isoformat(timespec='seconds'),
            command=sys.argv,
            system={name: str(value) for name, value in collect_env().items()},
            source=source_state(Path(__file__).parents[3]),
            packages=dict(sorted((one.metadata['Name'], one.version) for one in metadata.distributions())),
            seed=runner.seed,
            world_size=runner.world_size,
            train_data=fingerprint(runner.train_dataloader.dataset),
        )
        for folder in (runner.work_dir, runner.log_dir):
            try:
                Path(folder, 'environment.json').write_text(json.dumps(record, indent=1), encoding='utf-8')
            except OSError as error:  # a record is not worth a run
                runner.logger.warning(f'{folder}/environment.json cannot be written ({error.strerror})')


def source_state(folder: Path) -> dict[str, Any]:
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


def fingerprint(dataset: Sized) -> dict[str, Any]:
    """What tells one state of a data set from another.

    Returns:
        The class and the number of samples; for data sets of files also a digest of up to 10,000 paths, evenly spread,
        relative to the data set's root.
    """
    wrapped = getattr(dataset, 'dataset', dataset)
    found: dict[str, Any] = dict(type=type(wrapped).__name__, samples=len(dataset))
    if isinstance(wrapped, BaseDataset) and len(dataset) and 'img_path' in wrapped.get_data_info(0):
        indices = range(0, len(dataset), -(-len(dataset) // MOST_PATHS))
        paths = [os.path.relpath(wrapped.get_data_info(i)['img_path'], wrapped.data_root or '.') for i in indices]
        found['paths'] = hashlib.sha256('\n'.join(paths).encode(errors='surrogateescape')).hexdigest()[:16]
    return found
