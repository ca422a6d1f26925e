"""The train loops underneath pretraining, fine-tuning and detection: by epochs, and by steps."""

from collections.abc import Callable, Iterator

from mmengine.runner import EpochBasedTrainLoop, IterBasedTrainLoop

from mixcl.engine.runners.keyed_steps import KeyedSteps
from mixcl.registry import LOOPS


@LOOPS.register_module()
class KeyedTrainLoop(KeyedSteps, EpochBasedTrainLoop):
    """Epoch-based training of any model, such as a classifier, that resumes exactly, also within an epoch.

    Arguments as of mmengine's ``EpochBasedTrainLoop``, and ``max_seconds``; see
    :class:`~mixcl.engine.runners.keyed_steps.KeyedSteps`.
    """

    def run_epoch(self) -> None:
        """Train on what is left of the epoch."""
        self.runner.call_hook('before_train_epoch')
        self._stop_if_asked()
        self.runner.model.train()
        done = self._iter - self._epoch * len(self.dataloader)
        self._skip(done)
        for idx, data_batch in enumerate(self.dataloader, start=done):
            self.run_iter(idx, data_batch)
            self._stop_if_asked()
        self.runner.call_hook('after_train_epoch')
        self._epoch += 1

    def run_iter(self, idx: int, data_batch: dict) -> None:
        """Train on one batch."""
        self._train_step(idx, data_batch)


@LOOPS.register_module()
class KeyedIterTrainLoop(KeyedSteps, IterBasedTrainLoop):
    """Training of any model, such as a detector, for a number of steps, that resumes exactly.

    It passes over the data again and again, in a new order each time; a batch never reaches into the next pass.

    Arguments as of mmengine's ``IterBasedTrainLoop``, and ``max_seconds``; see
    :class:`~mixcl.engine.runners.keyed_steps.KeyedSteps`.
    """

    def __init__(self, *args, **kwargs) -> None:
        super().__init__(*args, **kwargs)
        self.dataloader_iterator = _Batches(self._from)

    def run_iter(self, data_batch: dict) -> None:
        """Train on one batch, unless the run is asked to end."""
        # Here and not after the step, so that a validation that is due comes first.
        self._stop_if_asked()
        self._train_step(self._iter, data_batch)

    def _from(self, step: int) -> Iterator[dict]:
        """What is left of the pass that the step is in, then pass after pass."""
        passes, done = divmod(step, len(self.dataloader))
        while True:
            self._sampler.set_epoch(passes)
            self._skip(done)
            yield from self.dataloader
            passes, done = passes + 1, 0


class _Batches:
    """In the place of mmengine's iterator, which may load again all that the run was trained on.

    Args:
        begin: makes the batches from a step on.
    """

    def __init__(self, begin: Callable[[int], Iterator[dict]]) -> None:
        self._begin = begin
        self._batches = begin(0)

    def skip_iter(self, steps: int) -> None:
        self._batches = self._begin(steps)

    def __next__(self) -> dict:
        return next(self._batches)
