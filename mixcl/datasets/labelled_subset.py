"""A part of a labelled data set, for learning from few labels."""

from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import torch
from mmpretrain.datasets import BaseDataset

from mixcl.errors import UserError
from mixcl.randomness import generator
from mixcl.registry import DATASETS


@DATASETS.register_module()
class LabelledSubset(BaseDataset):
    """The images of a data set that a list names, or an equal share of each of its classes.

    A list holds one file name per line, as SimCLR's ``1percent.txt`` and ``10percent.txt``; folders in front of the
    name are ignored. Without a list, a class of n images gives ``share * n`` of them, rounded and at least one, by a
    choice that is a function of (seed, class) and so the same on every machine. Images keep their order.

    Args:
        dataset: the labelled data set, or its config; its pipeline is used.
        list_file: the list, relative to the data set's ``data_root`` unless it exists as it is.
        share: the share of every class, above 0 and at most 1. Either this or ``list_file``.
        seed: of the choice.
        lazy_init: load when first asked; as of mmengine's data sets.

    Raises:
        UserError: unless exactly one of list and share is given; on a share outside (0, 1]; if the list is missing or
            empty, names images that the data set does not have or has several times, or the data set has no file names.

    Source: Chen et al., A Simple Framework for Contrastive Learning, 2020, section 6 (semi-supervised learning).
    """

    def __init__(
        self,
        dataset: dict | BaseDataset,
        list_file: str | None = None,
        share: float | None = None,
        seed: int = 0,
        lazy_init: bool = False,
    ) -> None:
        if (list_file is None) == (share is None):
            raise UserError(
                f'LabelledSubset takes either list_file or share, not list_file={list_file!r} and share={share!r}: '
                'set one of them to None'
            )
        if share is not None and not 0 < share <= 1:
            raise UserError(f'LabelledSubset: share must be above 0 and at most 1, not {share!r}')
        lazily = dict(lazy_init=True)
        self.dataset = DATASETS.build(dataset, default_args=lazily) if isinstance(dataset, dict) else dataset
        self.list_file = list_file or ''
        self.share = share
        self.seed = seed
        super().__init__(ann_file='', data_root=self.dataset.data_root or '', lazy_init=lazy_init)
        self.pipeline = self.dataset.pipeline

    def check_layout(self) -> None:
        """Refuse a list that is missing or empty, without loading the data set."""
        if self.list_file:
            self._listed_names()

    def load_data_list(self) -> list[dict]:
        """The chosen images."""
        self.dataset.full_init()
        self._metainfo.update(self.dataset.metainfo)
        return [self.dataset.get_data_info(index) for index in sorted(self._chosen())]

    def _chosen(self) -> Iterable[int]:
        if self.share is not None:
            return balanced_indices(self.dataset.get_gt_labels(), self.share, self.seed)
        paths = [self.dataset.get_data_info(index).get('img_path') for index in range(len(self.dataset))]
        if None in paths:
            raise UserError(
                f'LabelledSubset: the images of {type(self.dataset).__name__} have no file names that the list '
                f'{self.list_file} could name; use share=0.01 or share=0.1 instead of list_file'
            )
        return listed_indices(self._listed_names(), [Path(path).name for path in paths])

    def _listed_names(self) -> list[str]:
        """The last part of the first word of every line that is not empty."""
        path = Path(self.list_file).expanduser()
        path = path if path.is_file() else Path(self.data_root) / path
        try:
            lines = path.read_text().splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f'the list of labelled images {path} cannot be read ({type(error).__name__}): put it there, or name '
                'another by list_file; without a list, share=0.1 chooses a tenth of every class'
            ) from error
        names = [Path(line.split()[0]).name for line in lines if line.strip()]
        if not names:
            raise UserError(f'the list of labelled images {path} is empty: it should have one file name per line')
        return names


def listed_indices(names: list[str], files: list[str]) -> set[int]:
    """The places in ``files`` of all ``names``.

    Raises:
        UserError: if a name is in no place or in several.
    """
    places = defaultdict(list)
    for index, file in enumerate(files):
        places[file].append(index)
    unknown = [name for name in names if name not in places]
    if unknown:
        raise UserError(
            f'{len(unknown)} of {len(names)} names in the list of labelled images are not in the data set, for example '
            f'{unknown[0]}: the list belongs to other images (an example from the data set is {files[0]})'
        )
    ambiguous = [name for name in names if len(places[name]) > 1]
    if ambiguous:
        raise UserError(
            f'{len(ambiguous)} names in the list of labelled images fit several images, for example {ambiguous[0]}: '
            'use share instead of list_file'
        )
    return {places[name][0] for name in names}


def balanced_indices(labels: np.ndarray, share: float, seed: int) -> list[int]:
    """The same share of every class, at least one image of each.

    Args:
        labels: (N,) integer classes.
        share: above 0 and at most 1.
        seed: of the choice, which is a function of (seed, class).

    Returns:
        indices in [0, N), class by class.
    """
    chosen = []
    for label in np.unique(labels).tolist():
        members = np.flatnonzero(labels == label)
        count = max(1, round(share * len(members)))
        order = torch.randperm(len(members), generator=generator(seed, 'labelled subset', label))
        chosen += members[order[:count].numpy()].tolist()
    return chosen
