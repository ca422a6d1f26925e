"""Base class of data sets whose folder layout gives the split."""

import os
from pathlib import Path
from typing import Any

from mmpretrain.datasets import BaseDataset

from mixcl.errors import UserError


class SplitDataset(BaseDataset):
    """A data set that finds the images of a split without an annotation file.

    Args:
        data_root: the folder; not needed if images come with a library.
        split: one of the class's ``SPLITS``; None: the first.
        **kwargs: of mmpretrain's BaseDataset, for example ``pipeline`` and ``indices`` (10000: the first 10,000).
    """

    SPLITS: tuple[str, ...] = ('train', 'val')
    LAYOUT = ''
    """Files that the folder holds, for messages."""

    def __init__(self, data_root: str = '', split: str | None = None, **kwargs: Any) -> None:
        self.split = self.SPLITS[0] if split is None else split
        if self.split not in self.SPLITS:
            raise UserError(
                f'{type(self).__name__}: split must be {" or ".join(map(repr, self.SPLITS))}, not {split!r}; change it '
                'in the config'
            )
        super().__init__(ann_file='', data_root=os.path.expanduser(data_root), **kwargs)

    def required(self, *parts: str) -> Path:
        """Return the path of a part of the folder.

        Raises:
            UserError: if it does not exist.
        """
        path = Path(self.data_root, *parts)
        if not path.exists():
            raise UserError(
                f'{type(self).__name__}: {path} is missing; expected under {self.data_root}: {self.LAYOUT}; give the '
                'right folder with `data_root`'
            )
        return path
