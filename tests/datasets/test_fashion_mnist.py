"""Fashion-MNIST, read from tiny files made here."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from mixcl.datasets import FashionMNIST, fashion_mnist
from mixcl.errors import UserError

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
LABELS = np.array([9, 0, 3, 3, 7], dtype=np.uint8)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f'>HBB{array.ndim}I', 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a packed test split, and an unpacked training split of the same images in reverse order."""
    (tmp_path / 't10k-images-idx3-ubyte.gz').write_bytes(gzip.compress(idx(IMAGES)))
    (tmp_path / 't10k-labels-idx1-ubyte.gz').write_bytes(gzip.compress(idx(LABELS)))
    (tmp_path / 'train-images-idx3-ubyte').write_bytes(idx(IMAGES[::-1]))
    (tmp_path / 'train-labels-idx1-ubyte').write_bytes(idx(LABELS[::-1]))
    return tmp_path


def test_images_and_labels(folder: Path) -> None:
    for split, step in (('test', 1), ('train', -1)):
        dataset = FashionMNIST(str(folder), split=split)
        infos = [dataset.get_data_info(index) for index in range(len(dataset))]
        assert [info['gt_label'] for info in infos] == LABELS[::step].tolist()
        images = np.stack([info['img'] for info in infos])
        assert (images.dtype, images.shape) == (np.uint8, (5, 28, 28, 3))
        assert all(np.array_equal(images[..., channel], IMAGES[::step]) for channel in range(3))
        assert dataset.metainfo['classes'][9] == 'Ankle boot'


def test_damaged_and_missing_files(folder: Path) -> None:
    images, labels = (folder / f't10k-{content}-ubyte.gz' for content in ('images-idx3', 'labels-idx1'))
    whole = images.read_bytes()
    flipped = whole[:100] + bytes([whole[100] ^ 1]) + whole[101:]
    for path, content in (
        *((images, content) for content in (whole[:200], flipped, b'no gzip', gzip.compress(idx(IMAGES)[:-1]), b'')),
        *((labels, content) for content in (gzip.compress(idx(LABELS[:4])), None)),
    ):
        images.write_bytes(whole)
        path.unlink() if content is None else path.write_bytes(content)
        with pytest.raises(UserError, match=f'is missing in {folder} or damaged .*apt install.*`data_root`') as caught:
            FashionMNIST(str(folder), split='test')
        assert '\n' not in str(caught.value)


def test_the_folder_when_none_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashion_mnist, 'DEBIAN_PACKAGE_FOLDER', str(folder))
    assert len(FashionMNIST(split='test')) == 5
    monkeypatch.setattr(fashion_mnist, 'DEBIAN_PACKAGE_FOLDER', str(tmp_path / 'not installed'))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match='missing in data/fashionmnist'):
        FashionMNIST()
