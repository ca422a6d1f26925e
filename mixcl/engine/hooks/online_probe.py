"""Linear classifier that is trained beside the encoder and measures its features during pretraining."""

from typing import Any

import numpy as np
import torch
from mmengine.dist import all_reduce, get_dist_info
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor, nn
from torch.nn import functional

from mixcl.algorithms import ContrastiveLearner
from mixcl.distributed import unwrapped
from mixcl.errors import UserError
from mixcl.heads.sync_batch_norm import SyncBatchNorm
from mixcl.registry import HOOKS

UNLABELLED = -1


@HOOKS.register_module()
class OnlineProbe(Hook):
    """Trains a linear classifier on the online encoder's features of the batches that pretraining sees anyway.

    It learns from one view of each labelled image, never from mixtures. Where queries are masked views or a part of
    the patches (iBOT, ``keep``), it learns from those, and its accuracy is lower. No gradient reaches the encoder and
    no random number is drawn: pretraining is bit-identical with and without the probe. Each batch is one step of AdamW;
    processes average their gradients. The checkpoint holds the state as ``online_probe``.

    Logs two accuracies in percent: ``train/online_probe_train_top1`` on each batch before learning from it, and
    ``online_probe_top1`` on the images of every validation by a ``FeatureLoop``.

    Args:
        num_classes: number of classes; by default as many as the training set names.
        lr: learning rate; divided by the square root of the number of features, which batch normalisation standardises.

    Raises:
        UserError: before training, if the training images have no labels, or the online encoder sees nothing but
            mixtures (BSIM with a target of its own).
    """

    # Runs before the hooks that log the outputs of a step and the metrics of a validation, since it adds to both.
    priority = 'HIGHEST'

    def __init__(self, num_classes: int | None = None, lr: float = 0.03) -> None:
        self.num_classes = num_classes
        self.lr = lr
        self.probe: nn.Sequential | None = None
        self._state: dict[str, Any] = {}
        self._features: Tensor | None = None
        self._hits: list[Tensor] = []

    def before_train(self, runner: Runner) -> None:
        model, data = unwrapped(runner.model), runner.train_dataloader.dataset
        if not isinstance(model, ContrastiveLearner):
            raise UserError(f'OnlineProbe watches a ContrastiveLearner, not a {type(model).__name__}; leave it out')
        online = {rows.stream for rows in model.online_rows if rows.level == 'image'}
        self._view = next((view for view in model.recipe.views if view in online), '')
        if not self._view:
            raise UserError(
                'OnlineProbe learns from views, but this method shows the online encoder mixtures only '
                f'({", ".join(sorted(online))}); leave it out, kNN measures the same encoder'
            )
        if not any(np.isscalar(data.get_data_info(index).get('gt_label')) for index in range(len(data))):
            raise UserError(
                f'OnlineProbe needs training images with one label each, which {type(data.dataset).__name__} does not '
                'give; leave it out, or name data with labels'
            )
        self._classes = self.num_classes or len(data.metainfo.get('classes') or ())
        if self._classes < 2:
            raise UserError(
                f'OnlineProbe needs two classes or more; the training set names {self._classes}, set num_classes'
            )
        model.observers.append(self._observe)

    def _observe(self, features: dict[str, Tensor], projections: dict[str, Tensor]) -> None:
        self._features = features[self._view].detach()

    def after_train_iter(
        self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: dict | None = None
    ) -> None:
        samples = data_batch['data_samples']
        labels = torch.tensor([int(sample.gt_label) if 'gt_label' in sample else UNLABELLED for sample in samples])
        if labels.max() >= self._classes:
            raise UserError(f'OnlineProbe: num_classes={self._classes}, but an image has the label {labels.max()}')
        number = int((labels != UNLABELLED).sum())
        assert self._features is not None
        # Of several crops, only the first. NaNs of a step that NonFiniteHook skips must not ruin the probe.
        features, self._features = self._features[: len(labels)].float().nan_to_num(0, 0, 0), None
        labels = labels.to(features.device, non_blocking=True)
        if self.probe is None:
            self.probe = self._built(features)
        logits = self.probe.train()(features)
        loss = functional.cross_entropy(logits, labels, ignore_index=UNLABELLED, reduction='sum') / max(number, 1)
        self.optimizer.zero_grad()
        loss.backward()
        for parameter in self.probe.parameters():
            all_reduce(parameter.grad, op='mean')
        self.optimizer.step()
        if number and outputs is not None:
            outputs['online_probe_train_top1'] = 100 * (logits.argmax(dim=1) == labels).sum() / number

    def _built(self, features: Tensor) -> nn.Sequential:
        """Build the probe and its optimiser: zero in all processes, or as in the checkpoint that is resumed."""
        width = features.shape[1]
        linear = nn.utils.skip_init(nn.Linear, width, self._classes)  # it draws no random number
        for parameter in linear.parameters():
            nn.init.zeros_(parameter)
        probe = nn.Sequential(SyncBatchNorm(width, affine=False), linear).to(features.device)
        self.optimizer = torch.optim.AdamW(probe.parameters(), lr=self.lr / width**0.5, weight_decay=0.0)
        stored = self._state.get('probe')
        if stored and stored['1.weight'].shape == linear.weight.shape:
            probe.load_state_dict(stored)
            self.optimizer.load_state_dict({**self.optimizer.state_dict(), 'state': self._state['optimizer']})
        return probe

    # ----- checkpoints -----

    def before_save_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        if self.probe is not None:
            self._state = dict(probe=self.probe.state_dict(), optimizer=self.optimizer.state_dict()['state'])
        checkpoint['online_probe'] = self._state

    def after_load_checkpoint(self, runner: Runner, checkpoint: dict) -> None:
        if runner._resume:
            self._state = checkpoint.get('online_probe', {})

    # ----- validation -----

    @torch.no_grad()
    def after_val_iter(self, runner: Runner, batch_idx: int, data_batch: Any = None, outputs: Any = None) -> None:
        """Note which images of a :class:`~mixcl.evaluation.feature_loop.FeatureLoop` the probe classifies correctly."""
        found = outputs[0] if outputs else None
        if self.probe is not None and isinstance(found, dict) and found['labels'].dim() == 1:
            guesses = self.probe.eval()(found['online'].to(self.probe[1].weight.device)).argmax(dim=1)
            readable = found['readable'].to(guesses.device)
            self._hits.append(torch.stack([readable & (guesses == found['labels'].to(guesses.device)), readable]))

    def after_val_epoch(self, runner: Runner, metrics: dict[str, float] | None = None) -> None:
        """Add the accuracy to the metrics of the validation."""
        if self._hits and metrics is not None:
            rank, processes = get_dist_info()
            size = len(runner.val_dataloader.dataset)
            # The sampler deals images out in turn, and repeats some at the end.
            hits = torch.cat(self._hits, dim=1)[:, : len(range(rank, size, processes))].sum(dim=1)
            all_reduce(hits)
            metrics['online_probe_top1'] = 100 * (hits[0] / hits[1]).item()
        self._hits = []
