"""New settings of a resumed run."""

import warnings

from mmengine.hooks import Hook
from mmengine.optim.scheduler.param_scheduler import _ParamScheduler
from mmengine.runner import Runner

from mixcl.errors import UserError
from mixcl.recipes.difference import Change


class NewSettingsHook(Hook):
    """Lets the settings of the config take effect in place of those in the checkpoint that is resumed.

    The config's schedules are advanced to the checkpoint's step. The optimiser's state stays if it fits the parameters.
    """

    def __init__(self, changes: list[Change]) -> None:
        self.another_optimizer = any(change.path == 'optim_wrapper.optimizer.type' for change in changes)

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        meta, steps = checkpoint['meta'], len(runner.train_loop.dataloader)
        if meta.get('steps_per_epoch', steps) != steps and 'max_epochs' in runner.cfg.train_cfg:
            epochs, within = divmod(meta['iter'], meta['steps_per_epoch'])
            if within:
                raise UserError(
                    f'the run had {meta["steps_per_epoch"]} steps per epoch and would have {steps} now, and the '
                    'checkpoint lies within an epoch: resume one of a whole epoch (epoch_N.pth)'
                )
            meta.update(epoch=epochs, iter=epochs * steps, steps_per_epoch=steps)
        if runner.cfg.get('randomness', {}).get('seed') is not None:  # which the stored one would replace
            meta['seed'] = runner.seed
        schedules = runner.param_schedulers or []
        _move_on(schedules, meta['iter'], meta['epoch'], steps)
        checkpoint['param_schedulers'] = [schedule.state_dict() for schedule in schedules]
        stored, fresh = checkpoint['optimizer'], runner.optim_wrapper.state_dict()
        settings = ('param_groups', 'base_param_settings', 'state')
        kept = {name: value for name, value in stored.items() if name not in settings}  # such as a loss scaler's
        if not self.another_optimizer and _sizes(stored) == _sizes(fresh):
            kept['state'] = stored['state']
        else:
            runner.logger.warning(
                'the stored state of the optimiser does not fit the new one, which starts without a state'
            )
        checkpoint['optimizer'] = {**fresh, **kept}


def _move_on(schedules: list[_ParamScheduler], steps: int, epochs: int, steps_per_epoch: int) -> None:
    """Step schedules as a run does: those in steps after every step, those in epochs after every finished epoch.

    The last epoch may be unfinished even after all its steps.
    """
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # about missing optimiser steps
        for step in range(1, steps + 1):
            for schedule in schedules:
                if not schedule.by_epoch or (step % steps_per_epoch == 0 and step // steps_per_epoch <= epochs):
                    schedule.step()


def _sizes(optimizer: dict) -> list[int]:
    return [len(group['params']) for group in optimizer['param_groups']]
