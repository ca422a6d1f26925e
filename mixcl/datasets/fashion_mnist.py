"""Fashion-MNIST from the four files in which it is published."""

import gzip
import os
import zlib
from typing import Any

import numpy as np
from mmpretrain.datasets.categories import FASHIONMNIST_CATEGORITES

from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS

DEBIAN_PACKAGE_FOLDER = '/usr/share/datasets/fashion-mnist'


@DATASETS.register_module()
class FashionMNIST(SplitDataset):
    """70,000 images of clothes, 28x28, grey repeated over three channels: 60,000 to train on, 10,000 to test on.

    Each sample has ``img``, uint8 (28, 28, 3), and ``gt_label``, 0 to 9. Reads ``train-images-idx3-ubyte.gz`` and its
    three siblings, packed or unpacked. Unlike mmpretrain's class, it neither downloads nor writes.

    Args:
        data_root: the folder. None: that of Debian's package ``dataset-fashion-mnist`` if it is installed, else
            ``data/fashionmnist``.
        **kwargs: same as SplitDataset's; ``split`` is 'train' or 'test'.

    Raises:
        UserError: for another split, or if a file is missing or damaged.

    Source: Xiao et al., Fashion-MNIST, arXiv:1708.07747; file format: LeCun's MNIST page.
    """

    METAINFO = {'classes': FASHIONMNIST_CATEGORITES}  # noqa: RUF012 (mmengine's name and form)
    SPLITS = ('train', 'test')

    def __init__(self, data_root: str | None = None, **kwargs: Any) -> None:
        default = DEBIAN_PACKAGE_FOLDER if os.path.isdir(DEBIAN_PACKAGE_FOLDER) else 'data/fashionmnist'
        super().__init__(data_root or default, **kwargs)

    def load_data_list(self) -> list[dict]:
        try:
            images = self._read('images-idx3', 28, 28)[..., None].repeat(3, axis=-1)
            labels = self._read('labels-idx1').tolist()
            return [{'img': image, 'gt_label': label} for image, label in zip(images, labels, strict=True)]
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise UserError(
                f'a file of Fashion-MNIST is missing in {self.data_root} or damaged ({error}): run `apt install '
                'dataset-fashion-mnist`, or name the folder of its four files (train-images-idx3-ubyte.gz, ...) by '
                '`data_root`'
            ) from error

    def _read(self, content: str, *sides: int) -> np.ndarray:
        """Read (n, *sides) uint8."""
        path = os.path.join(self.data_root, f'{"train" if self.split == "train" else "t10k"}-{content}-ubyte')
        with open(path, 'rb') if os.path.exists(path) else gzip.open(f'{path}.gz') as file:
            return np.frombuffer(file.read(), np.uint8, offset=8 + 4 * len(sides)).reshape(-1, *sides)
