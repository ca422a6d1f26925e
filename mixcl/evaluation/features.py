"""Features and labels of whole data sets, in data set order, whatever the number of processes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import torch
from mmengine.dist import all_gather, get_dist_info
from mmengine.model import BaseModel
from torch import Tensor, nn
from torch.utils.data import DataLoader

from mixcl.errors import UserError
from mixcl.terminal import progress

ReadLabels = Callable[[Sequence, DataLoader], Tensor]
"""(data samples of a batch, the loader they came from, for messages) to one row per image, on the CPU."""


def class_labels(samples: Sequence, dataloader: DataLoader) -> Tensor:
    """Classes (B,) int64 of mmpretrain's data samples with ``gt_label`` (1,); an error if one has none, or several."""
    if any('gt_label' not in sample or sample.gt_label.numel() != 1 for sample in samples):
        raise UserError(
            f'{type(dataloader.dataset).__name__} does not give one label per image, which this evaluation needs: use '
            'a labelled data set, or switch evaluation off with val_dataloader = val_cfg = val_evaluator = None '
            '(test_ too)'
        )
    return torch.cat([sample.gt_label for sample in samples]).cpu()


def presence_labels(samples: Sequence, dataloader: DataLoader) -> Tensor:
    """Which classes images show, (B, C) int8: 1 present, 0 difficult objects only, -1 absent."""
    if any('present' not in sample for sample in samples):
        raise UserError(
            f'{type(dataloader.dataset).__name__} does not say which classes an image shows, which this evaluation '
            'needs: use a data set of several labels per image, such as VOC07'
        )
    return torch.stack([torch.as_tensor(sample.present) for sample in samples]).to('cpu', torch.int8)


LABELS: dict[str, ReadLabels] = {'class': class_labels, 'multiple': presence_labels}
"""The kinds of labels by their names in configs."""


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Put a model into evaluation mode without gradients, and every part of it back into its own mode afterwards."""
    modes = [(module, module.training) for module in model.modules()]
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        for module, training in modes:
            module.training = training


def extract(
    model: BaseModel,
    dataloader: DataLoader,
    encoders: Sequence[str],
    read_labels: ReadLabels = class_labels,
) -> tuple[dict[str, Tensor], Tensor]:
    """Encode every image of a data set once, with several encoders.

    Args:
        model: has ``extract_features(images, encoder=name)`` returning (B, D) and a ``data_preprocessor``; its mode is
            restored afterwards, its buffers are not touched.
        dataloader: single-view and collated by ``default_collate``. Over several processes the sampler must
            deal images out in turn, as mmengine's ``DefaultSampler(shuffle=False)`` does, padded or not.
        read_labels: one of :data:`LABELS`.

    Returns:
        per encoder the features (N, D) float32, and the labels (N, ...); on the CPU, in data set order and
        complete in every process.

    Raises:
        UserError: if images lack the labels, have several views, or are dropped by the loader.
    """
    parts: list[dict[str, Tensor]] = []
    labels: list[Tensor] = []
    with evaluating(model):
        for batch in progress(dataloader, f'features of {len(dataloader.dataset)} images', len(dataloader)):  # type: ignore[arg-type]
            labels.append(read_labels(batch['data_samples'], dataloader))
            parts.append(encode(model, batch, encoders))
    features = {name: gather([part[name] for part in parts], dataloader) for name in encoders}
    return features, gather(labels, dataloader)


def encode(model: BaseModel, batch: dict, encoders: Sequence[str]) -> dict[str, Tensor]:
    """Per encoder the features (B, D), float32 on the CPU, of a batch with ``inputs`` (B, 3, h, w).

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


def gather(parts: Sequence[Tensor], dataloader: DataLoader) -> Tensor:
    """Merge what the processes hold into data set order; process r holds rows r, r + W, r + 2W, ... of N.

    Args:
        parts: (n, ...) each, the batches of this process; padding at the end is dropped.

    Raises:
        UserError: if this process holds fewer rows than its share.
    """
    values = torch.cat(list(parts))
    rank, world_size = get_dist_info()
    size = len(dataloader.dataset)  # type: ignore[arg-type]  # torch does not say that data sets have a length
    share = len(range(rank, size, world_size))
    if len(values) < share:
        raise UserError(
            f'the data loader of {type(dataloader.dataset).__name__} gave {len(values)} of {share} images: '
            'evaluation needs all of them, set drop_last=False'
        )
    if world_size == 1:
        return values[:size]
    equal = values.new_zeros(-(-size // world_size), *values.shape[1:])
    equal[:share] = values[:share]
    return torch.stack(all_gather(equal), dim=1).flatten(0, 1)[:size]
