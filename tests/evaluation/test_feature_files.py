"""Features on the disk: files of so many images, interruptions, and folders that are not to be continued."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from mmengine.model import BaseModel
from mmpretrain.datasets import CustomDataset
from PIL import Image
from torch import Tensor

from mixcl.datasets import ImageFolder, KeyedDataset
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import extract_to_files, open_folder, read_features

IDENTITY = dict(checkpoint='1234', feature=dict(type='Output'), sizes=(1, 2))
PIPELINE = [dict(type='mixcl.LoadImage'), dict(type='mmpretrain.PackInputs')]


class FirstPixels(BaseModel):
    """Features that anyone can check."""

    def extract_features(self, images: Tensor, encoder: str) -> Tensor:
        return images[:, :, 0, :2].flatten(1).float()

    forward = extract_features


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Seven images, of which b and g cannot be read; the name of one is no text."""
    folder = tmp_path / 'images'
    folder.mkdir()
    for number, name in enumerate((b'a', b'b', b'c', b'd', b'caf\xe9', b'f', b'g')):
        path = folder / (name + b'.png').decode(errors='surrogateescape')
        Image.fromarray(np.full((4, 4, 3), number, dtype=np.uint8)).save(path)
    (folder / 'b.png').write_bytes(b'no image')
    (folder / 'g.png').write_bytes(b'')
    return folder


def extract(images: Path, out: Path, images_per_file: int = 3, batch_size: int = 2) -> None:
    dataset = KeyedDataset(ImageFolder(str(images), pipeline=PIPELINE, test_mode=True))
    open_folder(out, IDENTITY)
    assert extract_to_files(out, FirstPixels(), dataset, images_per_file, batch_size, num_workers=0) == 2


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.mark.parametrize(('images_per_file', 'files'), [(3, 3), (7, 1), (100, 1)])
def test_a_row_per_image_in_files_of_so_many(images: Path, tmp_path: Path, images_per_file: int, files: int) -> None:
    extract(images, tmp_path / 'out', images_per_file)
    assert set(contents(tmp_path / 'out')) == {'meta.json', *(f'features_{number:05d}.npz' for number in range(files))}
    found = read_features(tmp_path / 'out')
    assert set(found) == {'features', 'names', 'unreadable'}
    assert found['names'].tolist() == ['a.png', 'b.png', 'c.png', 'caf\udce9.png', 'd.png', 'f.png', 'g.png']
    assert found['unreadable'].tolist() == ['', 'not an image', '', '', '', '', 'the file is empty']
    assert found['features'].dtype == np.float32
    expected = np.array([0, np.nan, 2, 4, 3, 5, np.nan])[:, None].repeat(6, axis=1)
    np.testing.assert_array_equal(found['features'], expected)
    with np.load(tmp_path / 'out/features_00000.npz') as arrays:
        assert len(arrays['names']) == min(images_per_file, 7)


def test_what_is_there_is_not_made_again(images: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    tmp_path = tmp_path_factory.mktemp('out')
    extract(images, tmp_path)
    whole = contents(tmp_path)
    (tmp_path / 'features_00001.npz').unlink()
    times = {path.name: path.stat().st_mtime_ns for path in tmp_path.glob('*.npz')}
    extract(images, tmp_path, batch_size=3)
    assert contents(tmp_path) == whole
    assert all((tmp_path / name).stat().st_mtime_ns == time for name, time in times.items())


def test_labels_lie_beside_the_features(images: Path, tmp_path: Path) -> None:
    for number, name in enumerate(('a.png', 'f.png')):
        (tmp_path / f'classes/{number}').mkdir(parents=True)
        (images / name).rename(tmp_path / f'classes/{number}/{name}')
    dataset = KeyedDataset(CustomDataset(str(tmp_path / 'classes'), pipeline=PIPELINE))
    open_folder(tmp_path / 'out', IDENTITY)
    extract_to_files(tmp_path / 'out', FirstPixels(), dataset, 1, 1, 0)
    found = read_features(tmp_path / 'out')
    assert found['labels'].tolist() == [0, 1] and found['names'].tolist() == ['0/a.png', '1/f.png']


@pytest.mark.parametrize('change', [dict(checkpoint='5678'), dict(feature=dict(type='PooledGrid'))])
def test_another_identity_is_not_continued(tmp_path: Path, change: dict) -> None:
    open_folder(tmp_path / 'out', IDENTITY)
    open_folder(tmp_path / 'out', json.loads(json.dumps(IDENTITY)))
    with pytest.raises(UserError, match=f'features of another {next(iter(change))} .*; give another --out'):
        open_folder(tmp_path / 'out', IDENTITY | change)


def test_places_that_are_no_features(tmp_path: Path) -> None:
    (tmp_path / 'notes.txt').touch()
    with pytest.raises(UserError, match=r'cannot be written .*File exists.*--out'):
        open_folder(tmp_path / 'notes.txt', IDENTITY)
    for text in (None, 'no json', '[1]', '[' * 100_000):
        if text:
            (tmp_path / 'meta.json').write_text(text)
        with pytest.raises(UserError, match='holds something else already; give a new or an empty folder'):
            open_folder(tmp_path, IDENTITY)
    with pytest.raises(UserError, match='holds no features'):
        read_features(tmp_path)


@pytest.mark.parametrize('kind', ['truncated', 'empty', 'other arrays'])
def test_a_damaged_file_is_refused(images: Path, tmp_path: Path, kind: str) -> None:
    extract(images, tmp_path / 'out')
    path = tmp_path / 'out/features_00001.npz'
    if kind == 'other arrays':
        np.savez(path, x=torch.zeros(3).numpy())
    else:
        path.write_bytes(dict(truncated=path.read_bytes()[:60], empty=b'')[kind])
    with pytest.raises(UserError, match=r'features_00001\.npz is damaged .* remove it and run the same command again'):
        extract(images, tmp_path / 'out')


WHOLE = dict(features=np.zeros((2, 3), np.float32), names=np.array(['a', 'b']), unreadable=np.array(['', '']))


@pytest.mark.parametrize(
    ('number', 'arrays', 'message'),
    [
        (1, WHOLE | dict(features=np.zeros((2, 4), np.float32)), 'features_00001.npz holds other features than'),
        (1, WHOLE | dict(labels=np.zeros(2, np.int64)), 'features_00001.npz holds other features than'),
        (
            1,
            WHOLE | dict(names=np.array(['a'])),
            r'features_00001.npz is damaged \(its arrays are of different',
        ),
        (1, dict(features=WHOLE['features']), 'features_00001.npz is damaged'),
        (2, WHOLE, 'has no features_00001.npz'),
    ],
)
def test_files_that_do_not_belong_together(tmp_path: Path, number: int, arrays: dict, message: str) -> None:
    np.savez(tmp_path / 'features_00000.npz', **WHOLE)
    np.savez(tmp_path / f'features_0000{number}.npz', **arrays)
    with pytest.raises(UserError, match=message):
        read_features(tmp_path)
