"""Fashion-MNIST from the four files in which it is published."""

import gzip
import os
import zlib

import numpy as np
from mmpretrain.datasets.categories import FASHIONMNIST_CATEGORITES

from mixcl.datasets.split_dataset import SplitDataset
from mixcl.errors import UserError
from mixcl.registry import DATASETS

DEBIAN_PACKAGE_FOLDER = '/usr/share/datasets/fashion-mnist'
PREFIXES = {'train': 'train', 'test': 't10k'}
FILES = [f'{prefix}-{rest}-ubyte.gz' for prefix in PREFIXES.values() for rest in ('images-idx3', 'labels-idx1')]


@DATASETS.register_module()
class FashionMNIST(SplitDataset):
    """70,000 images of clothes, 28x28, grey repeated over three channels: 60,000 to train on, 10,000 to test on.

    Each sample has ``img``, uint8 (28, 28, 3), and ``gt_label``, 0 to 9. Reads ``train-images-idx3-ubyte.gz`` and its
    three siblings, unpacked ones too; unlike mmpretrain's class it neither downloads nor writes.

    Args:
        data_root: the folder. None: where Debian's package ``dataset-fashion-mnist`` puts it if it is installed, else
            ``data/fashionmnist``.
        split: 'train' or 'test'.
        **kwargs: as of SplitDataset.

    Raises:
        UserError: on another split, or if a file is missing or damaged.

    Source: Xiao et al., Fashion-MNIST, arXiv:1708.07747; file format: LeCun's MNIST page.
    """

    METAINFO = {'classes': FASHIONMNIST_CATEGORITES}  # noqa: RUF012 (mmengine's name and form)
    SPLITS = tuple(PREFIXES)

    def __init__(self, data_root: str | None = None, split: str = 'train', **kwargs) -> None:
        default = DEBIAN_PACKAGE_FOLDER if os.path.isdir(DEBIAN_PACKAGE_FOLDER) else 'data/fashionmnist'
        super().__init__(data_root or default, split, **kwargs)

    def load_data_list(self) -> list[dict]:
        """Images and labels of the split."""
        images = self._read('images', dimensions=3)
        labels = self._read('labels', dimensions=1)
        if len(images) != len(labels):
            raise self._error(f'has {len(images)} images but {len(labels)} labels in split {self.split!r}')
        return [
            {'img': np.repeat(image[..., None], 3, axis=2), 'gt_label': int(label)}
            for image, label in zip(images, labels, strict=True)
        ]

    def _read(self, content: str, dimensions: int) -> np.ndarray:
        name = f'{PREFIXES[self.split]}-{content}-idx{dimensions}-ubyte'
        path = os.path.join(self.data_root, name)
        try:
            with gzip.open(f'{path}.gz') if os.path.exists(f'{path}.gz') else open(path, 'rb') as file:
                return parse_idx(file.read(), dimensions)
        except FileNotFoundError:
            raise self._error(f'has neither {name}.gz nor {name}') from None
        except (OSError, EOFError, ValueError, zlib.error) as error:
            raise self._error(f'has a damaged {name} ({error})') from error

    def _error(self, what: str) -> UserError:
        return UserError(
            f'the Fashion-MNIST folder {self.data_root} {what}: run `apt install dataset-fashion-mnist`, or name the '
            f'folder of the four files {", ".join(FILES)} by data_root or --data-root'
        )


def parse_idx(content: bytes, dimensions: int) -> np.ndarray:
    """The uint8 array of a file in IDX format: a magic number, the shape as big-endian integers, the values.

    Raises:
        ValueError: if the magic number or the length is not that of such an array with so many dimensions.
    """
    start = 4 * (1 + dimensions)
    if content[:4] != bytes([0, 0, 8, dimensions]) or len(content) < start:
        raise ValueError('it does not start as an IDX file of bytes should')
    shape = np.frombuffer(content[4:start], '>u4').tolist()
    return np.frombuffer(content[start:], np.uint8).reshape(shape)
