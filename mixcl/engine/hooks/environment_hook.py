"""Stores what a run ran on beside its config."""

import json
from pathlib import Path

from mmengine.dist import master_only
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.environment import environment, fingerprint
from mixcl.registry import HOOKS


@HOOKS.register_module()
class EnvironmentHook(Hook):
    """Writes ``environment.json`` into the work dir, and into the folder of this start's log.

    It holds versions of all packages, hardware, the state of the source code, the command, and a fingerprint of the
    training data (see :mod:`mixcl.environment`). The resolved config lies beside it, written by mmengine.
    """

    @master_only
    def before_train(self, runner: Runner) -> None:
        """Write it."""
        record = dict(**environment(), seed=runner.seed, world_size=runner.world_size)
        record['train_data'] = fingerprint(runner.train_dataloader.dataset)
        text = json.dumps(record, indent=1)
        for folder in (runner.work_dir, runner.log_dir):
            Path(folder, 'environment.json').write_text(text, encoding='utf-8')
