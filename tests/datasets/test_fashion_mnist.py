"""Fashion-MNIST's files, as tiny ones made here."""

import gzip
import struct
from pathlib import Path

import numpy as np
import pytest

from mixcl.datasets import FashionMNIST, fashion_mnist
from mixcl.errors import UserError

IMAGES = np.random.default_rng(0).integers(0, 256, (5, 28, 28), dtype=np.uint8)
LABELS = np.array([9, 0, 3, 3, 7], dtype=np.uint8)


def packed(content: bytes) -> bytes:
    # Without the time, which would give the tests other names in every process.
    return gzip.compress(content, mtime=0)


def idx(array: np.ndarray) -> bytes:
    return struct.pack(f'>HBB{array.ndim}I', 0, 8, array.ndim, *array.shape) + array.tobytes()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Test split packed, training split (the same images the other way round) unpacked."""
    (tmp_path / 't10k-images-idx3-ubyte.gz').write_bytes(packed(idx(IMAGES)))
    (tmp_path / 't10k-labels-idx1-ubyte.gz').write_bytes(packed(idx(LABELS)))
    (tmp_path / 'train-images-idx3-ubyte').write_bytes(idx(IMAGES[::-1]))
    (tmp_path / 'train-labels-idx1-ubyte').write_bytes(idx(LABELS[::-1]))
    return tmp_path


@pytest.mark.parametrize(('split', 'step'), [('test', 1), ('train', -1)])
def test_images_and_labels(folder: Path, split: str, step: int) -> None:
    dataset = FashionMNIST(str(folder), split=split)
    infos = [dataset.get_data_info(index) for index in range(len(dataset))]
    assert [info['gt_label'] for info in infos] == LABELS[::step].tolist()
    images = np.stack([info['img'] for info in infos])
    assert (images.dtype, images.shape) == (np.uint8, (5, 28, 28, 3))
    assert all(np.array_equal(images[..., channel], IMAGES[::step]) for channel in range(3))
    assert dataset.metainfo['classes'][9] == 'Ankle boot'


@pytest.mark.parametrize(
    ('name', 'content', 'what'),
    [
        ('images-idx3', packed(idx(IMAGES))[:200], 'end-of-stream'),
        ('images-idx3', b'no gzip at all', 'Not a gzipped file'),
        ('images-idx3', packed(idx(LABELS)), 'does not start as an IDX file'),
        ('images-idx3', packed(b''), 'does not start as an IDX file'),
        ('images-idx3', packed(idx(IMAGES)[:-1]), 'cannot reshape array of size 3919'),
        ('labels-idx1', packed(idx(LABELS) + b'x'), 'cannot reshape array of size 6'),
        ('labels-idx1', packed(idx(LABELS[:4])), '5 images but 4 labels'),
    ],
)
def test_damaged_files_are_named(folder: Path, name: str, content: bytes, what: str) -> None:
    (folder / f't10k-{name}-ubyte.gz').write_bytes(content)
    with pytest.raises(UserError) as caught:
        FashionMNIST(str(folder), split='test')
    message = str(caught.value)
    assert what in message
    for part in (str(folder), f't10k-{name}-ubyte', 'apt install dataset-fashion-mnist', '--data-root'):
        assert part in message
    assert '\n' not in message


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / 'train-labels-idx1-ubyte').unlink()
    with pytest.raises(UserError, match=r'has neither train-labels-idx1-ubyte.gz nor train-labels-idx1-ubyte: .*apt'):
        FashionMNIST(str(folder))


def test_the_folder_when_none_is_named(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fashion_mnist, 'DEBIAN_PACKAGE_FOLDER', str(folder))
    assert len(FashionMNIST(split='test')) == 5
    monkeypatch.setattr(fashion_mnist, 'DEBIAN_PACKAGE_FOLDER', str(tmp_path / 'not installed'))
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match='folder data/fashionmnist has neither'):
        FashionMNIST()
