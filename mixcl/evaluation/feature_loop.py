"""Validation and test loop that measures frozen features of every encoder of a model."""

from collections.abc import Mapping
from functools import partial
from itertools import count
from typing import Any

import torch
from mmengine.evaluator import Evaluator
from mmengine.model import BaseModel
from mmengine.runner import Runner, ValLoop
from torch import Tensor
from torch.utils.data import DataLoader

from mixcl.datasets import KeyedDataset
from mixcl.distributed import host_group, unwrapped
from mixcl.engine.runners.processes import on_main_process
from mixcl.errors import UserError
from mixcl.evaluation.features import LABELS, Step, extract
from mixcl.evaluation.metrics.base import FeatureMetric
from mixcl.evaluation.view_features import lidar_of
from mixcl.registry import DATASETS, LOOPS, build


@LOOPS.register_module()
class FeatureLoop(ValLoop):
    """Loop that encodes the images of its data loader and of a bank, and measures the features in the main process.

    Serves as ``val_cfg`` and as ``test_cfg``. Each image is encoded once by every encoder. Metrics are named after the
    encoder: ``online_knn20_top1``. Training is not affected: the model's modes are restored, its buffers do not change.

    Args:
        runner: has a model with ``encoder_names`` and ``extract_features(images, encoder=name)`` returning (B, D).
        dataloader: the queries; ``val_dataloader`` or ``test_dataloader``, passed by the runner.
        evaluator: one or more :class:`~mixcl.evaluation.metrics.base.FeatureMetric`; passed by the runner.
        bank_dataloader: the images that the metrics learn from, usually the training images, not augmented and not
            shuffled.
        labels: kind of the labels: 'class', or 'multiple' (which classes are present).
        lidar: ``dataset``, the config of images with the views of training, and ``images`` and ``views``, for
            :func:`~mixcl.evaluation.view_features.lidar_of`; without a data set, it is not measured.
        amp: encode under bfloat16 autocast (``--amp`` of ``mixcl test``); features are still float32.

    Raises:
        UserError: if a data set has no such labels, or the evaluator holds other metrics. It is raised before any
            image is encoded, and before training when used for validation.
    """

    def __init__(
        self,
        runner: Runner,
        dataloader: DataLoader | dict,
        evaluator: Evaluator | dict | list,
        bank_dataloader: DataLoader | dict,
        labels: str = 'class',
        amp: bool = False,
        lidar: dict | None = None,
    ) -> None:
        super().__init__(runner, dataloader, evaluator)
        self.amp = amp
        self.lidar = dict(lidar or {})
        viewed = self.lidar.pop('dataset', None)
        self.viewed: KeyedDataset | None = build(DATASETS, viewed) if viewed else None
        self.bank_dataloader = runner.build_dataloader(bank_dataloader, seed=runner.seed)
        self.group = host_group()
        self.encoders, self.read_labels = tuple(self.model.encoder_names), LABELS[labels]
        for metric in self.evaluator.metrics:
            if not isinstance(metric, FeatureMetric):
                raise UserError(
                    'FeatureLoop needs metrics of features, such as KNNAccuracy, but the evaluator holds a '
                    f'{type(metric).__name__}: correct val_evaluator or test_evaluator'
                )
        for loader in (self.bank_dataloader, self.dataloader):
            self.read_labels([loader.dataset[0]['data_samples']], loader)

    @property
    def model(self) -> BaseModel:
        """The runner's model without its distributed wrapper."""
        return unwrapped(self.runner.model)

    @property
    def mode(self) -> str:
        """Part of the hook names: 'test' while the runner uses this as its test loop, else 'val'."""
        # The public `runner.test_loop` would build a test loop that nobody asked for.
        return 'test' if self.runner._test_loop is self else 'val'

    def run(self) -> dict[str, float]:
        """Evaluate all encoders and return ``{encoder}_{metric}``, shares in percent."""
        mode = self.mode
        self.runner.call_hook(f'before_{mode}')
        self.runner.call_hook(f'before_{mode}_epoch')
        device = next(self.model.parameters()).device.type
        images = self.encoders, self.read_labels, self.group
        with torch.autocast(device, torch.bfloat16, enabled=self.amp):
            # Queries first: encoding the bank would otherwise count as the data time of the first batch.
            queries, labels = extract(self.model, self.dataloader, *images, self._with_hooks)
            bank, bank_labels = extract(self.model, self.bank_dataloader, *images)
            ranks = {encoder: self._lidar(encoder) for encoder in self.encoders}
        metrics: dict[str, float] = {}
        for encoder in self.encoders:
            measure = partial(self._measured, bank.pop(encoder), bank_labels, queries.pop(encoder), labels)
            results = {**on_main_process(measure), **ranks[encoder]}
            metrics |= {f'{encoder}_{name}': value for name, value in results.items()}
        self.runner.call_hook(f'after_{mode}_epoch', metrics=metrics)
        self.runner.call_hook(f'after_{mode}')
        return metrics

    def _lidar(self, encoder: str) -> dict[str, float]:
        if self.viewed is None:
            return {}
        workers = self.bank_dataloader.num_workers
        return lidar_of(self.model, self.viewed, encoder, **self.lidar, workers=workers, group=self.group)

    def _with_hooks(self, step: Step) -> Step:
        """Wrap a step in the hooks of a query batch, whose outputs are those of :func:`extract`'s step."""
        numbers, mode = count(), self.mode

        def watched(batch: dict) -> Mapping[str, Any]:
            number = next(numbers)
            self.runner.call_hook(f'before_{mode}_iter', batch_idx=number, data_batch=batch)
            found = step(batch)
            self.runner.call_hook(f'after_{mode}_iter', batch_idx=number, data_batch=batch, outputs=[found])
            return found

        return watched

    def _measured(self, bank: Tensor, bank_labels: Tensor, queries: Tensor, labels: Tensor) -> dict[str, float]:
        device = self.model.data_preprocessor.device
        queries = queries.to(device) if device.type == 'cuda' else queries
        values: dict[str, float] = {}
        for metric in self.evaluator.metrics:
            values |= metric.compute(bank, bank_labels, queries, labels)
        return values
