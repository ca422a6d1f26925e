"""Features on the disk: pieces, interruptions, and folders that are not to be continued."""

import json
from pathlib import Path

import numpy as np
import pytest

from mixcl.errors import UserError
from mixcl.evaluation.feature_files import FeatureFiles, check_packed
from mixcl.files import written_whole

ROWS = np.arange(20, dtype=np.float32).reshape(5, 4)
NAMES = ['a.png', 'b/c.png', 'd', 'e', 'f']
IDENTITY = dict(checkpoint='1234', feature=dict(type='Output'), sizes=(1, 2))


def opened(folder: Path, **identity: object) -> FeatureFiles:
    return FeatureFiles(folder, {**IDENTITY, **identity}, NAMES, np.arange(5), dict(source='here'))


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_pieces_make_the_whole(tmp_path: Path) -> None:
    files = opened(tmp_path / 'out')
    for start, end in ((0, 2), (2, 4), (4, 5)):
        files.append(ROWS[start:end])
        assert files.done == end and not files.complete
        assert not (tmp_path / 'out/features.npy').exists()
    files.finish()
    assert files.complete
    found = contents(tmp_path / 'out')
    assert set(found) == {'features.npy', 'names.txt', 'labels.npy', 'meta.json'}
    assert np.array_equal(np.load(tmp_path / 'out/features.npy', mmap_mode='r'), ROWS)
    assert np.array_equal(np.load(tmp_path / 'out/labels.npy'), np.arange(5))
    assert found['names.txt'].decode().splitlines() == NAMES
    meta = json.loads(found['meta.json'])
    assert (meta['done'], meta['images'], meta['source']) == (5, 5, 'here')


@pytest.mark.parametrize('pieces', [0, 1, 2])
def test_an_interrupted_folder_is_continued_to_the_same_bytes(tmp_path: Path, pieces: int) -> None:
    whole = opened(tmp_path / 'whole')
    for start in (0, 2, 4):
        whole.append(ROWS[start : start + 2], [(NAMES[start], 'bad')])
    whole.finish()

    first = opened(tmp_path / 'out')
    for start in (0, 2)[:pieces]:
        first.append(ROWS[start : start + 2], [(NAMES[start], 'bad')])
    part = tmp_path / 'out/features.npy.part'
    if pieces:  # what was under way when the process was killed
        mapped = np.lib.format.open_memmap(part, mode='r+')
        mapped[2 * pieces :] = -1
        mapped.flush()
    again = opened(tmp_path / 'out')
    assert again.done == 2 * pieces
    for start in (0, 2, 4)[pieces:]:
        again.append(ROWS[start : start + 2], [(NAMES[start], 'bad')])
    again.finish()
    assert contents(tmp_path / 'out') == contents(tmp_path / 'whole')
    assert (tmp_path / 'out/unreadable.txt').read_text() == 'a.png (bad)\nd (bad)\nf (bad)\n'


def test_a_finished_folder_is_left_alone(tmp_path: Path) -> None:
    files = opened(tmp_path / 'out')
    files.append(ROWS)
    files.finish()
    before = contents(tmp_path / 'out')
    again = opened(tmp_path / 'out')
    assert again.complete and again.done == 5
    again.finish()
    assert contents(tmp_path / 'out') == before


@pytest.mark.parametrize(
    ('change', 'message'),
    [
        (dict(checkpoint='5678'), r'features of another checkpoint \(1234, now 5678\)'),
        (dict(feature=dict(type='PooledGrid')), 'features of another feature .*Output.*PooledGrid'),
        (dict(device='cuda'), r'features of another device \(null, now cuda\)'),
    ],
)
def test_another_identity_is_not_continued(tmp_path: Path, change: dict, message: str) -> None:
    opened(tmp_path / 'out').append(ROWS[:2])
    with pytest.raises(UserError, match=message):
        opened(tmp_path / 'out', **change)


def test_folders_that_are_no_features(tmp_path: Path) -> None:
    (tmp_path / 'notes.txt').touch()
    with pytest.raises(UserError, match='is a folder of other files; give a new or an empty one'):
        opened(tmp_path)
    with pytest.raises(UserError, match=r'notes\.txt is a file; give a new folder'):
        opened(tmp_path / 'notes.txt')
    for text in ('no json', '[1]', '{"identity": {}}'):
        (tmp_path / 'meta.json').write_text(text)
        with pytest.raises(UserError, match=r'has a meta\.json that is not of features'):
            opened(tmp_path)
    opened(tmp_path / 'out').append(ROWS[:2])
    (tmp_path / 'out/features.npy.part').unlink()
    with pytest.raises(UserError, match=r'has lost its features\.npy\.part; remove the folder'):
        opened(tmp_path / 'out')


def test_packed_into_one_file(tmp_path: Path) -> None:
    files = opened(tmp_path / 'out.npz.unfinished')
    files.append(ROWS)
    files.finish()
    files.pack(tmp_path / 'out.npz')
    assert [path.name for path in tmp_path.iterdir()] == ['out.npz']
    with np.load(tmp_path / 'out.npz') as arrays:
        assert np.array_equal(arrays['features'], ROWS) and arrays['names'].tolist() == NAMES
        assert arrays['labels'].tolist() == [0, 1, 2, 3, 4]
    check_packed(tmp_path / 'out.npz', IDENTITY)
    with pytest.raises(UserError, match='features of another checkpoint'):
        check_packed(tmp_path / 'out.npz', dict(IDENTITY, checkpoint='5678'))
    np.savez(tmp_path / 'other.npz', x=ROWS)
    (tmp_path / 'text.npz').write_text('no archive')
    for name in ('other.npz', 'text.npz'):
        with pytest.raises(UserError, match='exists and is no file of features'):
            check_packed(tmp_path / name, IDENTITY)


def test_names_that_are_no_text(tmp_path: Path) -> None:
    name = b'caf\xe9.png'.decode(errors='surrogateescape')
    files = FeatureFiles(tmp_path / 'out', IDENTITY, [name])
    files.append(ROWS[:1], [(name, 'bad')])
    files.finish()
    assert (tmp_path / 'out/names.txt').read_bytes() == b'caf\xe9.png\n'
    assert FeatureFiles(tmp_path / 'out', IDENTITY, [name]).unreadable == [(name, 'bad')]


def test_a_file_appears_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / 'folder/file'
    with written_whole(path) as file:
        file.write(b'first')
        assert not path.exists()
    with pytest.raises(RuntimeError), written_whole(path) as file:
        file.write(b'second')
        raise RuntimeError
    assert path.read_bytes() == b'first' and [path.name for path in path.parent.iterdir()] == ['file']


@pytest.mark.parametrize('kind', ['truncated', 'empty', 'one array'])
def test_a_damaged_npz_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / 'out.npz'
    np.savez(path, meta=np.array('{}'))
    if kind == 'one array':
        with open(path, 'wb') as file:
            np.save(file, ROWS)
    else:
        path.write_bytes(path.read_bytes()[: 30 if kind == 'truncated' else 0])
    with pytest.raises(UserError, match='is no file of features'):
        check_packed(path, IDENTITY)


def test_a_place_that_takes_no_files_is_refused(tmp_path: Path) -> None:
    (tmp_path / 'file').touch()
    with pytest.raises(UserError, match=r'cannot be written \(Not a directory\); give another place'):
        opened(tmp_path / 'file/out')
