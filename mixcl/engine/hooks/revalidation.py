"""Validation that a resumed run has missed."""

from mmengine.hooks import Hook
from mmengine.runner import Runner


class Revalidation(Hook):
    """Hook that repeats the validation a resumed training has missed: mmengine saves a checkpoint before validating."""

    priority = 'LOWEST'

    def before_train(self, runner: Runner) -> None:
        loop = runner.train_loop
        due = loop.epoch == loop.max_epochs or (loop.epoch >= loop.val_begin and loop.epoch % loop.val_interval == 0)
        ended = loop.iter == loop.epoch * len(loop.dataloader)  # and no step of the next epoch was taken
        if loop.epoch and ended and due and runner.val_loop is not None:
            runner.val_loop.run()
