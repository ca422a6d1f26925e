"""The train loop underneath pretraining and fine-tuning: every step is a function of its key."""

from mmengine.dist import get_rank
from mmengine.model import is_model_wrapper
from mmengine.runner import EpochBasedTrainLoop, Runner
from torch import nn
from torch.utils.data import DataLoader

from mixcl.algorithms import StepKey
from mixcl.datasets import KeyedSampler
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators
from mixcl.registry import LOOPS
from mixcl.weights import PlainCheckpointHook


@LOOPS.register_module()
class KeyedTrainLoop(EpochBasedTrainLoop):
    """Epoch-based training of any model, such as a classifier, that resumes exactly.

    Beyond mmengine's loop it

    - checks the sampler and the number of images when it is built;
    - starts the global generators of every step from (seed, step, rank), so that mixup, drop path and the like do not
      depend on the run's history;
    - writes checkpoints that hold tensors and plain values only.

    Arguments as of mmengine's ``EpochBasedTrainLoop``.

    Raises:
        UserError: if the sampler is no ``KeyedSampler``, or the training set is smaller than a batch.
    """

    def __init__(self, runner: Runner, dataloader: DataLoader | dict, **kwargs) -> None:
        super().__init__(runner, dataloader, **kwargs)
        # Here and not in run(): the schedules are built in between, and fail on an epoch without steps.
        self._check_data()
        runner.register_hook(PlainCheckpointHook())

    def run(self) -> nn.Module:
        # A run that was started without a seed continues with that of its checkpoint.
        self.dataloader.sampler.seed = self.runner.seed
        return super().run()

    def run_iter(self, idx: int, data_batch: dict) -> None:
        key = StepKey(self.runner.seed, self.iter, get_rank())
        seed_global_generators(*key)
        self._begin_step(key)
        self.runner.call_hook('before_train_iter', batch_idx=idx, data_batch=data_batch)
        outputs = self.runner.model.train_step(data_batch, optim_wrapper=self.runner.optim_wrapper)
        self._end_step()
        self._log(dict(weight_decay=max(group['weight_decay'] for group in self._param_groups)))
        self.runner.call_hook('after_train_iter', batch_idx=idx, data_batch=data_batch, outputs=outputs)
        self._iter += 1

    def _begin_step(self, key: StepKey) -> None:
        """Called before every batch."""

    def _end_step(self) -> None:
        """Called after every batch, before any hook looks at the weights."""

    @property
    def _model(self) -> nn.Module:
        model = self.runner.model
        return model.module if is_model_wrapper(model) else model

    @property
    def _param_groups(self) -> list[dict]:
        return self.runner.optim_wrapper.param_groups

    def _log(self, values: dict[str, float]) -> None:
        for name, value in values.items():
            self.runner.message_hub.update_scalar(f'train/{name}', value)

    def _check_data(self) -> None:
        if not isinstance(self.dataloader.sampler, KeyedSampler):
            raise UserError(
                f'train_dataloader.sampler is a {type(self.dataloader.sampler).__name__}, with which every epoch would '
                "see the same views; use sampler=dict(type='KeyedSampler')"
            )
        if len(self.dataloader) == 0:
            raise UserError(
                f'the training set has {len(self.dataloader.dataset)} images, fewer than one batch of '
                f'{self.dataloader.batch_size} per process; lower train_dataloader.batch_size'
            )
