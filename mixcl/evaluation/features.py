"""Features and labels of whole data sets, in data set order, collected by the first process."""

import logging
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import torch
from mmengine.dist import get_dist_info
from mmengine.logging import print_log
from mmengine.model import BaseModel
from torch import Tensor, distributed, nn
from torch.utils.data import DataLoader

from mixcl.encoders.widths import evaluating
from mixcl.errors import UserError
from mixcl.terminal import progress

ReadLabels = Callable[[Sequence, DataLoader], Tensor]
"""Function (data samples of a batch, their loader) -> one row per image, on the CPU; the loader is for messages."""

ROWS_AT_ONCE = 16_384
"""Number of rows that each process sends at once."""


def class_labels(samples: Sequence, dataloader: DataLoader) -> Tensor:
    """Return the classes (B,) int64 of mmpretrain's data samples, each of which must have one ``gt_label`` (1,)."""
    if any('gt_label' not in sample or sample.gt_label.numel() != 1 for sample in samples):
        raise UserError(
            f'{type(dataloader.dataset).__name__} does not give one label per image, which this evaluation needs: use '
            'a labelled data set, or switch evaluation off with val_dataloader = val_cfg = val_evaluator = None '
            '(test_ too)'
        )
    return torch.cat([sample.gt_label for sample in samples]).cpu()


def presence_labels(samples: Sequence, dataloader: DataLoader) -> Tensor:
    """Return which classes images show, (B, C) int8: 1 present, 0 difficult objects only, -1 absent."""
    if any('present' not in sample for sample in samples):
        raise UserError(
            f'{type(dataloader.dataset).__name__} does not say which classes an image shows, which this evaluation '
            'needs: use a data set of several labels per image, such as VOC07'
        )
    return torch.stack([torch.as_tensor(sample.present) for sample in samples]).to('cpu', torch.int8)


LABELS: dict[str, ReadLabels] = {'class': class_labels, 'multiple': presence_labels}
"""Readers of labels, by the names of the kinds in configs."""


Step = Callable[[dict], Mapping[str, Any]]
"""Function from a batch to its results, by name."""


def encode_all(model: nn.Module, batches: Iterable[dict], step: Step) -> dict[str, list]:
    """Run a step, usually :func:`encode` and more, on every batch, and collect its results by name.

    All features are made by this loop. The model's modes are restored afterwards; its buffers are not touched.
    """
    found: defaultdict[str, list] = defaultdict(list)
    with evaluating(model):
        for batch in batches:
            for name, value in step(batch).items():
                found[name].append(value)
    return found


def encode(model: BaseModel, batch: dict, encoders: Sequence[str]) -> dict[str, Tensor]:
    """Return the features (B, D) by encoder, float32 on the CPU, of a batch with ``inputs`` (B, 3, h, w).

    Args:
        model: has ``extract_features(images, encoder=name)`` returning (B, D) and a ``data_preprocessor``.

    Raises:
        UserError: if ``inputs`` is not one tensor.
    """
    images = model.data_preprocessor(batch, False)['inputs']
    if not isinstance(images, Tensor):
        raise UserError(
            'evaluation needs one view per image in one tensor, but the data loader gives a list: use a pipeline '
            "without MultiView and collate_fn=dict(type='default_collate')"
        )
    return {name: model.extract_features(images, encoder=name).float().cpu() for name in encoders}


def features_of(model: BaseModel, batches: Iterable[dict], encoder: str = 'online') -> Tensor:
    """Return the (N, D) float32 features of all batches by one encoder, on the CPU; (0, 0) without batches."""
    parts = encode_all(model, batches, lambda batch: encode(model, batch, [encoder]))
    return torch.cat(parts[encoder]) if parts else torch.zeros(0, 0)


def with_progress(dataloader: DataLoader) -> Iterator[dict]:
    """Yield the batches of a loader, with a progress line."""
    return progress(dataloader, f'features of {len(dataloader.dataset)} images', len(dataloader))  # type: ignore[arg-type]  # torch does not say that data sets have a length


def extract(
    model: BaseModel,
    dataloader: DataLoader,
    encoders: Sequence[str],
    read_labels: ReadLabels = class_labels,
    group: distributed.ProcessGroup | None = None,
    watched: Callable[[Step], Step] = lambda step: step,
) -> tuple[dict[str, Tensor], Tensor]:
    """Encode every image of a data set once, with several encoders, and collect the features in the first process.

    Args:
        model, encoders: same as :func:`encode`.
        dataloader: single-view and collated by ``default_collate``; with several processes the sampler must deal images
            out in turn, as mmengine's ``DefaultSampler(shuffle=False)`` does, padded or not.
        read_labels: one of :data:`LABELS`.
        group: result of :func:`~mixcl.distributed.host_group`, needed with several processes.
        watched: wraps the step of every batch, which returns features and ``labels``.

    Returns:
        features (N, D) float32 by encoder, and labels (N, ...); on the CPU, in data set order. Only the first process
        gets rows. Images that cannot be read, in whose place the data set gives others, are left out with a warning.

    Raises:
        UserError: if images lack the labels, have several views, or are dropped by the loader.
    """

    def step(batch: dict) -> dict[str, Tensor]:
        samples = batch['data_samples']
        readable = torch.tensor(['unreadable' not in sample for sample in samples])
        return encode(model, batch, encoders) | dict(labels=read_labels(samples, dataloader), readable=readable)

    parts = encode_all(model, with_progress(dataloader), watched(step))
    whole = {name: gather(parts.pop(name), dataloader, group) for name in (*encoders, 'labels', 'readable')}
    readable = whole.pop('readable')
    if not readable.all():
        lost = f'{int((~readable).sum())} of {len(readable)} images cannot be read and are left out'
        print_log(f'{lost}; mixcl verify-data lists them', 'current', logging.WARNING)
        whole = {name: rows[readable] for name, rows in whole.items()}
    return whole, whole.pop('labels')


def gather(parts: Sequence[Tensor], dataloader: DataLoader, group: distributed.ProcessGroup | None = None) -> Tensor:
    """Merge the rows of all processes in the first, in data set order; process r holds rows r, r + W, r + 2W, ... of N.

    The rows travel in blocks, from host to host. Only the first process ever holds more than its own rows.

    Args:
        parts: batches of this process, (n, ...) each, on the CPU; padding at the end is dropped.
        group: result of :func:`~mixcl.distributed.host_group`, needed with several processes.

    Returns:
        (N, ...) in the first process, (0, ...) in the others.

    Raises:
        UserError: in all processes, if any holds fewer rows than its share.
    """
    values = torch.cat(list(parts))
    rank, world_size = get_dist_info()
    size = len(dataloader.dataset)  # type: ignore[arg-type]  # torch does not say that data sets have a length
    held = [len(values)] * world_size
    if world_size > 1:
        distributed.all_gather_object(held, len(values), group=group)
    for number, rows in enumerate(held):
        if rows < (share := len(range(number, size, world_size))):
            raise UserError(
                f'the data loader of {type(dataloader.dataset).__name__} gave {rows} of {share} images: '
                'evaluation needs all of them, set drop_last=False'
            )
    if world_size == 1:
        return values[:size]
    whole = values.new_empty(0 if rank else size, *values.shape[1:])
    largest = -(-size // world_size)
    for start in range(0, largest, ROWS_AT_ONCE):
        own = values[start : min(start + ROWS_AT_ONCE, largest)]
        sent = own.new_zeros(min(ROWS_AT_ONCE, largest - start), *own.shape[1:])  # same shape in every process
        sent[: len(own)] = own
        received = None if rank else [torch.empty_like(sent) for _ in range(world_size)]
        distributed.gather(sent, received, group=group)
        if received:
            place = whole[start * world_size : (start + len(sent)) * world_size]
            place.copy_(torch.stack(received, dim=1).flatten(0, 1)[: len(place)])
    return whole
