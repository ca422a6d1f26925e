"""The train loop of pretraining: tells the model the step, and lets the target encoder follow every optimiser step."""

from torch import nn

from mixcl.algorithms import StepKey
from mixcl.engine.optimizers.skipped_steps import TakenStep
from mixcl.engine.runners.keyed_loop import KeyedTrainLoop
from mixcl.registry import LOOPS


@LOOPS.register_module()
class PretrainLoop(KeyedTrainLoop):
    """Epoch-based training of a :class:`~mixcl.algorithms.ContrastiveLearner`.

    Beyond :class:`KeyedTrainLoop` it

    - checks one sample and the batch size against the mixer when it is built;
    - tells the model which step it is;
    - calls the model's ``end_step`` once after every optimiser step (not for every micro-batch of an accumulated
      gradient), before any hook looks at the weights, and says whether the step was refused as not finite.

    Arguments as of mmengine's ``EpochBasedTrainLoop``.

    Raises:
        UserError: if the training set is smaller than a batch, or its images cannot be mixed.
    """

    def run(self) -> nn.Module:
        self._step = TakenStep(self.runner.optim_wrapper.optimizer)
        return super().run()

    def _begin_step(self, key: StepKey) -> None:
        self._step.forget()
        self._model.begin_step(key, self.iter / self.max_iters)

    def _end_step(self) -> None:
        if self.runner.optim_wrapper.should_update():
            progress = (self.iter + 1) / self.max_iters
            self._log(self._model.end_step(progress, self.max_epochs, self._step.taken))

    def _check_data(self) -> None:
        super()._check_data()
        crops = self.dataloader.dataset[next(iter(self.dataloader.sampler))]['inputs']
        self._model.check_batch(crops if isinstance(crops, list) else [crops], self.dataloader.batch_size)
