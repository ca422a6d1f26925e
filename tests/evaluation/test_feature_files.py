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

from mixcl.datasets import ImageFolder
from mixcl.errors import UserError
from mixcl.evaluation.feature_files import extract_to_files, open_folder, read_features

IDENTITY = dict(checkpoint='1234', feature=dict(type='Output'), sizes=(1, 2))
PIPELINE = [dict(type='mixcl.LoadImage'), dict(type='mmpretrain.PackInputs')]


class FirstPixels(BaseModel):
    """Features that anyone can check; counts the images that it is asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.images = 0

    def extract_features(self, images: Tensor, encoder: str) -> Tensor:
        self.images += len(images)
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


def extract(images: Path, out: Path, images_per_file: int = 3, batch_size: int = 2, **identity: object) -> FirstPixels:
    """The model, which knows how many images it has seen."""
    model, dataset = FirstPixels(), ImageFolder(str(images), pipeline=PIPELINE, test_mode=True)
    open_folder(out, IDENTITY | identity)
    unreadable = extract_to_files(out, model, dataset, images_per_file, batch_size, num_workers=0)
    assert unreadable == 2
    return model


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


def test_what_is_there_is_not_made_again(images: Path, tmp_path: Path) -> None:
    extract(images, tmp_path / 'whole')
    whole = contents(tmp_path / 'whole')
    first = np.load(tmp_path / 'whole/features_00000.npz')['features']
    assert extract(images, tmp_path / 'whole').images == 0
    (tmp_path / 'whole/features_00001.npz').unlink()
    assert extract(images, tmp_path / 'whole', batch_size=3).images == 3 + 1  # one tells how long the features are
    assert contents(tmp_path / 'whole') == whole and len(first) == 3


def test_labels_lie_beside_the_features(images: Path, tmp_path: Path) -> None:
    for number, name in enumerate(('a.png', 'f.png')):
        (tmp_path / f'classes/{number}').mkdir(parents=True)
        (images / name).rename(tmp_path / f'classes/{number}/{name}')
    dataset = CustomDataset(str(tmp_path / 'classes'), pipeline=PIPELINE, test_mode=True)
    open_folder(tmp_path / 'out', IDENTITY)
    extract_to_files(tmp_path / 'out', FirstPixels(), dataset, 1, 1, 0)
    found = read_features(tmp_path / 'out')
    assert found['labels'].tolist() == [0, 1] and found['names'].tolist() == ['0/a.png', '1/f.png']


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(checkpoint='5678'), r'another checkpoint \(1234, now 5678\)'),
        (dict(feature=dict(type='PooledGrid')), r'another feature \(.*Output.*PooledGrid.*\)'),
        (dict(device='cuda'), r'another device \(null, now cuda\)'),
    ],
)
def test_another_identity_is_not_continued(tmp_path: Path, change: dict, message: str) -> None:
    open_folder(tmp_path / 'out', IDENTITY)
    open_folder(tmp_path / 'out', json.loads(json.dumps(IDENTITY)))
    with pytest.raises(UserError, match=f'{message}; give another --out'):
        open_folder(tmp_path / 'out', IDENTITY | change)


def test_places_that_are_no_features(tmp_path: Path) -> None:
    (tmp_path / 'notes.txt').touch()
    for place in (tmp_path, tmp_path / 'notes.txt'):
        with pytest.raises(UserError, match='holds something else already; give a new or an empty folder'):
            open_folder(place, IDENTITY)
    with pytest.raises(UserError, match=r'cannot be written .*Not a directory.*--out'):
        open_folder(tmp_path / 'notes.txt/out', IDENTITY)
    for text in ('no json', '[1]'):
        (tmp_path / 'meta.json').write_text(text)
        with pytest.raises(UserError, match=r'has a meta\.json that is not of features'):
            open_folder(tmp_path, IDENTITY)
    with pytest.raises(UserError, match='holds no features'):
        read_features(tmp_path)


@pytest.mark.parametrize('kind', ['truncated', 'empty', 'text', 'other arrays'])
def test_a_damaged_file_is_refused(images: Path, tmp_path: Path, kind: str) -> None:
    extract(images, tmp_path / 'out')
    path = tmp_path / 'out/features_00001.npz'
    if kind == 'other arrays':
        np.savez(path, x=torch.zeros(3).numpy())
    else:
        path.write_bytes(dict(truncated=path.read_bytes()[:60], empty=b'', text=b'no archive')[kind])
    with pytest.raises(UserError, match=r'features_00001\.npz is damaged .* remove it and run the same command again'):
        extract(images, tmp_path / 'out')
