"""Record of a run, beside its config: the command, versions, the machine, the source code, the data."""

import json
import subprocess
import sys
from datetime import datetime, timezone
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any

from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmengine.utils.dl_utils import collect_env

from mixcl.datasets.image_digest import write_names
from mixcl.registry import HOOKS


@HOOKS.register_module()
class EnvironmentHook(Hook):
    """Writes ``environment.json`` into the work dir, and into the folder of this start's log; and the images' names.

    mmengine writes the resolved config beside it.
    """

    @master_only
    def before_train(self, runner: Runner) -> None:
        dataset = runner.train_dataloader.dataset
        record = dict(
            time=datetime.now(timezone.utc).isoformat(timespec='seconds'),
            command=sys.argv,
            system={name: str(value) for name, value in collect_env().items()},
            source=source_state(Path(__file__).parents[3]),
            packages=installed_packages(),
            seed=runner.seed,
            world_size=runner.world_size,
            train_data=dict(
                type=type(getattr(dataset, 'dataset', dataset)).__name__,
                samples=len(dataset),
                images=getattr(runner.train_loop, 'images', None),  # only loops of mixcl have it
            ),
        )
        for folder in (runner.work_dir, runner.log_dir):
            try:
                Path(folder, 'environment.json').write_text(json.dumps(record, indent=1), encoding='utf-8')
            except OSError as error:  # a missing record must not end a run
                runner.logger.warning(f'{folder}/environment.json cannot be written ({error.strerror})')
        if hasattr(runner.train_loop, 'images'):
            write_names(runner.work_dir, dataset)


@cache
def installed_packages() -> dict[str, str]:
    """Return the versions of all installed packages, by name."""
    found = (package.metadata for package in metadata.distributions())
    return dict(sorted((one['Name'], one['Version']) for one in found if one['Name']))  # else it is damaged


def source_state(folder: Path) -> dict[str, Any]:
    """Return the commit of the source code and the files that differ; empty if the folder is no git repository."""
    if not Path(folder, '.git').exists():  # mixcl may be installed inside another repository
        return {}
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
