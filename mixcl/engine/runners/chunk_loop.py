"""The train loop of APS: several steps per loaded batch, each on other patches."""

import copy
from collections.abc import Iterator

from mmengine.runner import Runner
from torch.utils.data import DataLoader

from mixcl.algorithms import PatchSamplingLearner
from mixcl.engine.runners.train_loop import PretrainLoop
from mixcl.errors import UserError
from mixcl.registry import LOOPS


class ChunkedLoader:
    """Hands out every batch of a loader once per chunk of sampled patches.

    What a step sees in ``data_samples[i].tokens`` is (2 views, patches) instead of (2 views, chunks, patches). An epoch
    is ``chunks`` times as many batches as the loader's.

    Args:
        loader: of samples that :class:`~mixcl.datasets.SampledPatchPair` made.
        chunks: per sample.

    Attributes:
        first_chunk: of the next iteration's first batch, where a run continues within one.
    """

    def __init__(self, loader: DataLoader, chunks: int) -> None:
        self.loader = loader
        self.chunks = chunks
        self.first_chunk = 0
        # What mmengine and its hooks read from a loader.
        self.dataset = loader.dataset
        self.sampler = loader.sampler
        self.batch_sampler = loader.batch_sampler
        self.batch_size = loader.batch_size

    def __len__(self) -> int:
        return len(self.loader) * self.chunks

    def __iter__(self) -> Iterator[dict]:
        first = self.first_chunk
        for batch in self.loader:
            for chunk in range(first, self.chunks):
                yield {**batch, 'data_samples': [_of_chunk(sample, chunk) for sample in batch['data_samples']]}
            first = 0


def _of_chunk(sample: object, chunk: int) -> object:
    part = copy.copy(sample)
    part.tokens = sample.tokens[:, chunk]
    return part


@LOOPS.register_module()
class ChunkedPretrainLoop(PretrainLoop):
    """Trains one full step on each chunk of sampled patches of every loaded batch (APS).

    Steps count as steps everywhere: in schedules, logs, hooks, the target encoder's updates, and the length of an
    epoch, which is ``chunks`` times that of the data loader. The number of chunks is that of ``SampledPatchPair``.

    Arguments as of :class:`PretrainLoop`. A run continues also within the chunks of a batch.

    Raises:
        UserError: if the training samples have no sampled patches, or the model does not take them.
    """

    def __init__(self, runner: Runner, dataloader: DataLoader | dict, **kwargs) -> None:
        super().__init__(runner, dataloader, **kwargs)
        self.dataloader = ChunkedLoader(self.dataloader, self._chunks())
        self._max_iters = self.max_epochs * len(self.dataloader)

    def _skip(self, steps: int) -> None:
        batches, self.dataloader.first_chunk = divmod(steps, self.dataloader.chunks)
        super()._skip(batches)

    def _chunks(self) -> int:
        sample = self.dataloader.dataset[next(iter(self.dataloader.sampler))]['data_samples']
        if 'tokens' not in sample or 'patch_grid' not in sample:
            raise UserError(
                'ChunkedPretrainLoop found no sampled patches in the training samples; make the views with '
                "SampledPatchPair and pack them with PackInputs, algorithm_keys=['tokens', 'patch_grid']"
            )
        if not isinstance(self._model, PatchSamplingLearner):
            raise UserError(
                'ChunkedPretrainLoop trains a PatchSamplingLearner; a model of type '
                f'{type(self._model).__name__} would see all patches in every step'
            )
        self._model.check_grid(sample.patch_grid)
        return sample.tokens.shape[1]
