"""Train loops of pretraining: the model is told the step, and its target encoder follows every optimiser step."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from mmengine.runner import Runner
from torch import Tensor, nn
from torch.optim import Optimizer
from torch.utils.data import DataLoader

from mixcl.algorithms import Learner, PatchSamplingLearner, StepKey
from mixcl.datasets import ViewPreprocessor
from mixcl.datasets.image_digest import image_digest
from mixcl.engine.runners.keyed_loop import KeyedTrainLoop
from mixcl.engine.runners.side_stream import SideStream
from mixcl.errors import UserError
from mixcl.registry import LOOPS, MODELS


@LOOPS.register_module()
class PretrainLoop(KeyedTrainLoop):
    """Epoch-based training of a :class:`~mixcl.algorithms.Learner`; arguments as for :class:`KeyedTrainLoop`.

    It tells the model which step it is, and calls its ``end_step`` once after every optimiser step (not for every
    micro-batch of an accumulated gradient), before any hook looks at the weights.

    Raises:
        UserError: if the training set is smaller than a batch, its images cannot be mixed, or the model is no learner.
    """

    def __init__(self, runner: Runner, dataloader: DataLoader | dict, **kwargs: Any) -> None:
        super().__init__(runner, dataloader, **kwargs)
        preprocessor = self._model.data_preprocessor
        self.finish: Callable[[dict], dict] = lambda batch: batch
        if isinstance(preprocessor, ViewPreprocessor):
            self.finish = SideStream(preprocessor.finish) if preprocessor.device.type == 'cuda' else preprocessor.finish

    def run(self) -> nn.Module:
        self.runner.optim_wrapper.optimizer.register_step_post_hook(self._note_step)
        return super().run()

    @cached_property
    def images(self) -> dict[str, int | str]:
        """Digest of the training images, without labels."""
        return image_digest(self.dataloader.dataset)

    def _begin_step(self, key: StepKey) -> None:
        self._taken: bool | Tensor = False
        self._model.begin_step(key, self.epoch)

    def _prepare(self, data_batch: dict) -> dict:
        return self.finish(data_batch) if isinstance(self.finish, SideStream) else data_batch

    def _end_step(self) -> None:
        if self.runner.optim_wrapper.should_update():
            progress = (self.iter + 1) / self.max_iters
            self._log(self._model.end_step(progress, self.max_epochs, self._taken))

    def _note_step(self, optimizer: Optimizer, *_: object) -> None:
        """Note whether the optimiser made a step, as a float32 scalar of 0 or 1 if the device decides (``found_inf``).

        Else a refused step finds no gradients (:class:`~mixcl.engine.NonFiniteHook`) or is not made (loss scaler).
        """
        found_inf = getattr(optimizer, 'found_inf', None)
        if found_inf is None:
            self._taken = any(p.grad is not None for group in optimizer.param_groups for p in group['params'])
        else:
            self._taken = (found_inf == 0).float()

    def _first_sample(self) -> dict:
        return self.dataloader.dataset[next(iter(self.dataloader.sampler))]

    def _check_data(self) -> None:
        super()._check_data()
        if not isinstance(self._model, Learner):
            name = type(self._model).__name__
            advice = f'write model.type={name!r}' if name in MODELS.module_dict else 'choose another train_cfg.type'
            raise UserError(f'PretrainLoop trains only learners of mixcl, and {name} is not one of them: {advice}')
        crops: list[Tensor] | Tensor = self._first_sample()['inputs']
        self._model.check_batch(crops if isinstance(crops, list) else [crops], self.dataloader.batch_size)


@dataclass(eq=False)
class ChunkedLoader:
    """Loader that prepares every batch of another one and yields it once per chunk: ``chunk(batch, number)``.

    Attributes:
        first_chunk: chunk at which the next iteration begins, if a run continues within a batch.
    """

    loader: DataLoader
    chunks: int
    chunk: Callable[[dict, int], dict]
    prepare: Callable[[dict], dict]
    first_chunk: int = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)  # what mmengine and its hooks read

    def __len__(self) -> int:
        return len(self.loader) * self.chunks

    def __iter__(self) -> Iterator[dict]:
        first = self.first_chunk
        for batch in map(self.prepare, self.loader):
            for number in range(first, self.chunks):
                yield self.chunk(batch, number)
            first = 0


@LOOPS.register_module()
class ChunkedPretrainLoop(PretrainLoop):
    """Takes a full training step on each chunk of every loaded batch.

    A :class:`~mixcl.algorithms.PatchSamplingLearner` says what the chunks are. Each counts as a step everywhere,
    also in the length of an epoch. Arguments same as :class:`PretrainLoop`.

    Raises:
        UserError: if the model knows no chunks, or the training samples have none.
    """

    dataloader: Any  # a ChunkedLoader

    def __init__(self, runner: Runner, dataloader: DataLoader | dict, **kwargs: Any) -> None:
        super().__init__(runner, dataloader, **kwargs)
        model = self._model
        if not isinstance(model, PatchSamplingLearner):
            raise UserError(
                f'ChunkedPretrainLoop needs a model whose batches have chunks, a PatchSamplingLearner; a '
                f"{type(model).__name__} trains with train_cfg.type='PretrainLoop'"
            )
        chunks = model.count_chunks(self._first_sample())
        self.dataloader = ChunkedLoader(self.dataloader, chunks, model.chunk, self.finish)
        self._max_iters = self.max_epochs * len(self.dataloader)

    def _skip(self, steps: int) -> None:
        batches, self.dataloader.first_chunk = divmod(steps, self.dataloader.chunks)
        super()._skip(batches)
