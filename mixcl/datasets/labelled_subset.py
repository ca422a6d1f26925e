"""A part of a labelled data set, for learning from few labels."""

from collections import Counter
from pathlib import Path

import numpy as np
import torch
from mmpretrain.datasets import BaseDataset

from mixcl.datasets.image_list import path_and_label
from mixcl.datasets.transforms.decoding import MAX_BYTES
from mixcl.errors import UserError
from mixcl.files import read_regular
from mixcl.randomness import generator
from mixcl.registry import DATASETS


@DATASETS.register_module()
class LabelledSubset(BaseDataset):
    """The images of a data set that a list names, or an equal share of each of its classes.

    A list holds one file name per line, like SimCLR's ``1percent.txt`` and ``10percent.txt``; folders in front of the
    name are ignored. Without a list, ``share * n`` of a class's n images are chosen, rounded and at least one. The
    choice is a function of (seed, class), and so the same on every machine. Images keep their order.

    Args:
        dataset: the labelled data set, or its config; its pipeline is used.
        list_file: the list, relative to the data set's ``data_root`` unless it exists as given.
        share: the share of every class, above 0 and at most 1. Give either this or ``list_file``.

    Raises:
        UserError: unless exactly one of list and share is given; for a share outside (0, 1]; if the list is missing, or
            names images that the data set does not have or has several times.

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
        if (list_file is None) == (share is None) or (share is not None and not 0 < share <= 1):
            raise UserError(
                'LabelledSubset takes either list_file or a share above 0 and at most 1, not '
                f'list_file={list_file!r} and share={share!r}; correct them in the config'
            )
        lazily = dict(lazy_init=True)
        self.dataset = DATASETS.build(dataset, default_args=lazily) if isinstance(dataset, dict) else dataset
        self.list_file = list_file or ''
        self.share = share
        self.seed = seed
        super().__init__(ann_file='', data_root=self.dataset.data_root or '', lazy_init=lazy_init)
        self.pipeline = self.dataset.pipeline

    def check_layout(self) -> None:
        """Refuse a missing list, without loading the data set."""
        if self.list_file:
            self._listed_names()

    def load_data_list(self) -> list[dict]:
        self.dataset.full_init()
        self._metainfo.update(self.dataset.metainfo)
        if self.share is not None:
            chosen = balanced_indices(self.dataset.get_gt_labels(), self.share, self.seed)
            return [dict(row=row) for row in sorted(chosen)]
        infos = list(map(self.dataset.get_data_info, range(len(self.dataset))))
        files = [Path(info.get('img_path', '')).name for info in infos]  # no names where images lie in memory
        names = self._listed_names()
        counts = Counter(files)
        wrong = [name for name in names if counts[name] != 1]
        if wrong:
            raise UserError(
                f'{len(wrong)} of {len(names)} names in the list of labelled images are not in the data set, for '
                f'example {min(wrong)}, or fit several images (its first image is {files[0]!r}): give the list of '
                'these images, or share=0.1 instead of list_file'
            )
        return [dict(row=row) for row, file in enumerate(files) if file in names]

    def get_data_info(self, idx: int) -> dict:
        # Not stored: in some data sets an entry holds a function that reads its file.
        return {**self.dataset.get_data_info(super().get_data_info(idx)['row']), 'sample_idx': idx}

    def _listed_names(self) -> set[str]:
        """Return the file names of the list, without folders and labels."""
        path = Path(self.list_file).expanduser()
        path = path if path.is_file() else Path(self.data_root) / path
        try:
            lines = read_regular(path, MAX_BYTES).decode().split('\n')
            return {Path(path_and_label(line.strip())[0]).name for line in lines if line.strip()}
        except (OSError, UnicodeDecodeError) as error:
            raise UserError(
                f'the list of labelled images {path} cannot be read ({error.args[-1]}): put it there, or name '
                'another by list_file; without a list, share=0.1 chooses a tenth of every class'
            ) from error


def balanced_indices(labels: np.ndarray, share: float, seed: int) -> list[int]:
    """Return indices of the same share of every class, at least one image of each, class by class; labels are (N,)."""
    chosen = []
    for label in np.unique(labels).tolist():
        members = np.flatnonzero(labels == label)
        count = max(1, round(share * len(members)))
        order = torch.randperm(len(members), generator=generator(seed, 'labelled subset', label))
        chosen += members[order[:count].numpy()].tolist()
    return chosen
