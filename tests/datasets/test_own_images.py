"""Your own images: every source gives the same pretraining, labels and splits; faults are told in one sentence."""

import gzip
import os
import re
import sys
import tarfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
from matplotlib.figure import Figure
from own_sources import CLASSES, photo, photos, write_all, write_folder, write_shards, write_tar
from PIL import Image
from torch.utils.data import DataLoader

from mixcl.datasets import FolderImages, HuggingFaceImages, ImageFolder, KeyedDataset, KeyedSampler, ListedImages
from mixcl.datasets.own_images import OwnImages
from mixcl.datasets.tar_images import TarImages
from mixcl.engine.hooks.run_lock import LOCK
from mixcl.errors import UserError
from mixcl.recipes.own_data import source_config
from mixcl.registry import DATASETS
from mixcl.visualization.canvas import write

VIEW = [dict(type='mmpretrain.RandomResizedCrop', scale=16, backend='pillow'), dict(type='RandomFlip', prob=0.5)]
PIPELINE = [
    dict(type='LoadImage'),
    dict(type='KeyedMultiView', num_views=[2], transforms=[VIEW]),
    dict(type='mmpretrain.PackInputs'),
]
KINDS = ('folder', 'list', 'tar', 'hf', 'parquet')


@pytest.fixture(scope='module')
def sources(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    os.environ.setdefault('HF_DATASETS_CACHE', str(tmp_path_factory.mktemp('cache')))
    return write_all(tmp_path_factory.mktemp('sources'), photos(18))


def built(spec: str, split: str = 'all', **settings: object) -> OwnImages:
    return DATASETS.build(dict(**source_config(spec), split=split, **settings))


def labelled(dataset: OwnImages) -> list[tuple[bytes, str]]:
    """Return every image's content and class."""
    classes = dataset.metainfo['classes']
    infos = [dataset.get_data_info(index) for index in range(len(dataset))]
    read = [info['read_bytes']() if 'read_bytes' in info else Path(info['img_path']).read_bytes() for info in infos]
    return [(content, classes[info['gt_label']]) for content, info in zip(read, infos, strict=True)]


def epoch(spec: str, workers: int, number: int = 1) -> list[torch.Tensor]:
    """Return the views of an epoch of pretraining, in its order."""
    dataset = KeyedDataset(dict(**source_config(spec), split='pretrain', pipeline=PIPELINE))
    sampler = KeyedSampler(dataset, seed=3)
    sampler.set_epoch(number)
    collate = lambda samples: [torch.stack(sample['inputs']) for sample in samples]  # noqa: E731
    loader = DataLoader(dataset, batch_size=6, sampler=sampler, num_workers=workers, collate_fn=collate)
    return [views for batch in loader for views in batch]


def test_an_epoch_of_pretraining_is_the_same_from_every_source_with_any_number_of_workers(sources: dict) -> None:
    expected = torch.stack(epoch(sources['folder'], 0))
    assert len(expected) == 18 and not torch.equal(expected, torch.stack(epoch(sources['folder'], 0, 2)))
    for kind in KINDS:
        for workers in (0, 2):
            assert torch.equal(torch.stack(epoch(sources[kind], workers)), expected), (kind, workers)


@pytest.mark.parametrize('kind', KINDS)
def test_labels_of_every_source_and_a_drawn_split(kind: str, sources: dict) -> None:
    files = photos(18)
    everything = built(sources[kind])
    assert everything.metainfo['classes'] == tuple(sorted(CLASSES))
    assert labelled(everything) == [(content, name.partition('/')[0]) for name, content in files.items()]
    train, test = (labelled(built(sources[kind], split)) for split in ('train', 'test'))
    assert sorted(train + test) == sorted(labelled(everything)) and not set(train) & set(test)
    assert set(Counter(name for _, name in test)) == set(CLASSES) == set(Counter(name for _, name in train))
    pretrained = built(sources[kind], 'pretrain')
    given = [pretrained.get_data_info(index).get('gt_label') for index in range(18)]
    told = sorted(label for label in given if label is not None)
    assert len(pretrained) == 18 and told == sorted(sorted(CLASSES).index(name) for _, name in train)


def test_a_folder_and_tar_files_of_it_hold_out_the_same_images(sources: dict) -> None:
    assert labelled(built(sources['folder'], 'test')) == labelled(built(sources['tar'], 'test'))


def test_the_drawn_split_is_about_a_fifth_and_stays_when_images_are_added_or_move(tmp_path: Path) -> None:
    def held_out(root: Path) -> set[str]:
        dataset = FolderImages(str(root), split='test')
        return {os.path.relpath(dataset.get_data_info(i)['img_path'], root) for i in range(len(dataset))}

    names = {f'{name}/{number:04d}.jpg': b'' for name in CLASSES for number in range(400)}
    before = held_out(write_folder(tmp_path / 'photos', names))
    assert all(55 <= number <= 105 for number in Counter(name.partition('/')[0] for name in before).values())
    (tmp_path / 'photos').rename(tmp_path / 'moved')
    write_folder(tmp_path / 'moved', {f'{name}/new_{number}.jpg': b'' for name in CLASSES for number in range(99)})
    assert {name for name in held_out(tmp_path / 'moved') if 'new' not in name} == before


def test_a_class_of_two_has_one_image_in_each_part_and_a_class_of_one_is_learnt_from(tmp_path: Path) -> None:
    names = [f'{name}/{number}.jpg' for name in 'abcdefgh' for number in range(2)]
    write_folder(tmp_path, dict.fromkeys([*names, 'z/0.jpg'], b''))
    train, test = (FolderImages(str(tmp_path), split=split).get_gt_labels().tolist() for split in ('train', 'test'))
    assert train == list(range(9)) and test == list(range(8))


def test_a_folder_with_a_split_of_its_own(tmp_path: Path) -> None:
    names = ['train/a/1.jpg', 'train/b/deep/2.png', 'train/3.jpg', 'val/a/4.jpg', 'val/b/5.jpg', 'test/a/6.jpg']
    write_folder(tmp_path, dict.fromkeys(names, b''))
    for split, expected in (
        ('pretrain', ['train/3.jpg', 'train/a/1.jpg', 'train/b/deep/2.png']),
        ('train', ['train/a/1.jpg', 'train/b/deep/2.png']),
        ('test', ['val/a/4.jpg', 'val/b/5.jpg']),
        ('all', sorted(names)),
    ):
        dataset = FolderImages(str(tmp_path), split=split)
        found = [dataset.get_data_info(index) for index in range(len(dataset))]
        assert [os.path.relpath(info['img_path'], tmp_path) for info in found] == expected
        labels = dict(pretrain=[None, 0, 1], train=[0, 1], test=[0, 1], all=[None] * len(found))
        assert [info.get('gt_label') for info in found] == labels[split]
    survey = dataset.survey()
    assert (survey.images, survey.classes, survey.train, survey.test, survey.given) == (3, ('a', 'b'), 2, 2, True)


@pytest.mark.parametrize(
    ('files', 'pretrained', 'told'),
    [
        (  # STL-10
            'train/a/1.png train/b/2.png test/a/3.png test/b/4.png unlabeled/5.png unlabeled/x/6.png 7.png',
            '7.png train/a/1.png train/b/2.png unlabeled/5.png unlabeled/x/6.png',
            '5 images to pretrain on; 2 classes (a, b), 2 labelled images to learn from and 2 to test on (as the data '
            'say); left out of pretraining: 2 images in test/',
        ),
        (
            'train/a/1.png train/b/2.png Val/a/3.png Val/b/4.png test/a/5.png extra/6.png more/7.png',
            'extra/6.png more/7.png train/a/1.png train/b/2.png',
            '4 images to pretrain on; 2 classes (a, b), 2 labelled images to learn from and 2 to test on (as the data '
            'say); left out of pretraining: 2 images in Val/, 1 image in test/',
        ),
        (
            'train2017/1.jpg train2017/2.jpg val2017/3.jpg val_2014/4.jpg test2017/5.jpg unlabeled2017/6.jpg',
            'train2017/1.jpg train2017/2.jpg unlabeled2017/6.jpg',
            '3 images to pretrain on without labels, so no kNN; left out of pretraining: 1 image in test2017/, '
            '1 image in val2017/, 1 image in val_2014/',
        ),
        ('cat/1.png Val/2.png testing/3.png', 'cat/1.png', 'no kNN; .* 1 image in Val/, 1 image in testing/'),
        (  # classes
            'bus/1.png bus/2.png train/3.png train/4.png train_station/5.png',
            'bus/1.png bus/2.png train/3.png train/4.png train_station/5.png',
            '5 images to pretrain on; 3 classes (bus, train, train_station)',
        ),
    ],
)  # fmt: skip
def test_pretraining_sees_all_but_tests_and_says_what_it_leaves(
    files: str, pretrained: str, told: str, tmp_path: Path
) -> None:
    write_folder(tmp_path, dict.fromkeys(files.split(), b''))
    dataset = FolderImages(str(tmp_path), split='pretrain')
    found = [os.path.relpath(dataset.get_data_info(index)['img_path'], tmp_path) for index in range(len(dataset))]
    survey = dataset.survey()
    assert found == pretrained.split() and survey.images == len(found)
    assert re.search(told if '.*' in told else re.escape(told), str(survey))
    unlabelled = ImageFolder(str(tmp_path))  # of configs that take no labels
    assert ([*unlabelled.get_data_info(0)], len(unlabelled)) == (['img_path', 'sample_idx'], len(found))
    assert len(FolderImages(str(tmp_path))) == len(files.split())  # features are of all


def test_parts_that_tar_files_and_tables_name(tmp_path: Path) -> None:
    for shard in ('train-0', 'unlabeled-0', 'test-0', 'test-1'):
        write_tar(tmp_path / f'{shard}.tar', {'a.jpg': b'', 'a.cls': b'1', 'b.jpg': b'', 'b.cls': b'2'})
    survey = TarImages(f'{tmp_path}/*.tar', lazy_init=True).survey()
    assert (survey.images, survey.train, survey.test, survey.left_out) == (4, 2, 4, {'test*.tar': 4})
    from datasets import Dataset, DatasetDict

    table = dict(image=[dict(bytes=photo(i), path=None) for i in range(2)], label=[0, 1])
    splits = {name: Dataset.from_dict(table) for name in ('train', 'test', 'unlabeled')}
    DatasetDict(splits).save_to_disk(tmp_path / 'table')
    survey = HuggingFaceImages(str(tmp_path / 'table'), lazy_init=True).survey()
    assert (survey.images, survey.train, survey.test, survey.left_out) == (4, 2, 2, {'test/': 2})


@pytest.mark.parametrize('kind', KINDS)
def test_labels_that_mean_nothing(kind: str, sources: dict) -> None:
    dataset = DATASETS.build(source_config(sources[kind], labels=False) | dict(split='pretrain'))
    assert str(dataset.survey()) == '18 images to pretrain on without labels, so no kNN'
    assert not any('gt_label' in dataset.get_data_info(index) for index in range(18))


def test_two_labels_of_an_image_do_not_matter_where_labels_do_not(tmp_path: Path) -> None:
    write_folder(tmp_path, {'a.jpg': b'', 'l.csv': b'a.jpg,1\na.jpg,2'})
    assert len(ListedImages(f'{tmp_path}/l.csv', labels=False)) == 1


def test_what_runs_have_written_is_no_image(tmp_path: Path) -> None:
    write_folder(tmp_path, dict.fromkeys(['a/1.jpg', 'a/2.jpg', 'b/3.jpg', 'b/best_of.pth', 'b/best_shot.jpg'], b''))
    before = str(FolderImages(str(tmp_path), lazy_init=True).survey())
    assert '4 images to pretrain on; 2 classes (a, b)' in before
    runs = [f'one/{LOCK}', 'one/map.png', 'one/20261128_030000/vis_data/vis_image/views_0.png', 'one/more/x.png']
    runs += ['b/two/last_checkpoint', 'b/two/y.png', 'z/iter_9.pth', 'z/last_checkpoint', 'z/z.png']
    # A run within the folder itself leaves the photos alone.
    runs += [LOCK, 'epoch_1.pth', 'vit.py', '20261128_030000/vis_data/vis_image/views_0.png']
    write_folder(tmp_path, dict.fromkeys(runs, b''))
    figure = Figure()
    for name in ('a/map.png', 'mix_preview.png'):
        write(figure, tmp_path / name)
    dataset = FolderImages(str(tmp_path), lazy_init=True)
    assert dataset.images().names == ['a/1.jpg', 'a/2.jpg', 'b/3.jpg', 'b/best_shot.jpg']
    found = {'one': 3, 'b/two': 1, 'z': 1, '20261128_030000/vis_data': 1, 'a': 1, '.': 1}
    assert dataset.survey().left_out == {f'{name}/ (written by mixcl)': number for name, number in found.items()}
    figure.savefig(tmp_path / 'b/map.png')  # of someone else
    Image.open(tmp_path / 'a/map.png').save(tmp_path / 'b/keys.png')  # a copy by another program
    assert dataset.images().names[2:] == ['b/3.jpg', 'b/best_shot.jpg', 'b/keys.png', 'b/map.png']


def test_a_flat_folder_is_pretrained_on_as_before_and_has_no_labels(tmp_path: Path) -> None:
    write_folder(tmp_path, {'b.png': b'', 'a.jpg': b'', 'notes.txt': b'', '.hidden.jpg': b''})
    dataset, before = FolderImages(str(tmp_path), split='pretrain'), ImageFolder(str(tmp_path))
    assert [dataset.get_data_info(i) for i in range(2)] == [before.get_data_info(i) for i in range(2)]
    assert str(dataset.survey()) == '2 images to pretrain on without labels, so no kNN'
    with pytest.raises(UserError, match=r'has no labels of two classes or more, .*docs/your_images\.md'):
        FolderImages(str(tmp_path), split='train')


@pytest.mark.parametrize(
    ('name', 'text'),
    [
        ('l.csv', 'photos/b.jpg,dog\nphotos/a.jpg,cat\nphotos/c d.jpg,dog\nphotos/e.png,\n'),
        ('l.csv', '\ufeffLabel;Path\r\ndog;photos/b.jpg\r\n\ncat;photos/a.jpg\ndog;"photos/c d.jpg"\n;photos/e.png'),
        ('l.csv', 'class\tid\tfile\ndog\t\tphotos/b.jpg\ncat\t\tphotos/a.jpg\ndog\t\tphotos/c d.jpg\n\t\tphotos/e.png'),
        ('l.csv', '"path", "label"\n"photos/b.jpg", "dog"\nphotos/a.jpg, cat\nphotos/c d.jpg, dog\nphotos/e.png,\n'),
        ('l.txt', 'photos/b.jpg dog\nphotos/a.jpg\tcat\n\nphotos/c d.jpg dog\nphotos/b.jpg dog\nphotos/e.png\n'),
    ],
)  # fmt: skip
@pytest.mark.parametrize('space', [' ', '\u2028', '\x0b\x1c'])  # which end no line of a list
def test_how_a_list_may_look(name: str, text: str, space: str, tmp_path: Path) -> None:
    paths = ['photos/b.jpg', 'photos/a.jpg', f'photos/c{space}d.jpg', 'photos/e.png']
    write_folder(tmp_path, dict.fromkeys(paths, b'') | {name: text.replace('c d', f'c{space}d').encode()})
    images = ListedImages(str(tmp_path / name), lazy_init=True).images()
    assert (images.names, images.labels) == (paths, ['dog', 'cat', 'dog', None])
    dataset = ListedImages(str(tmp_path / name), split='pretrain')
    assert [dataset.get_data_info(i)['img_path'] for i in range(4)] == [str(tmp_path / path) for path in paths]


def test_numbers_as_labels_and_paths_below_another_folder_in_a_list(tmp_path: Path) -> None:
    long = '1' * 5000  # Python makes no number of so many digits
    (tmp_path / 'list.csv').write_text(f'a.jpg,10\nb.jpg,9\nc.jpg,10\nd.jpg,{long}\ne.jpg,007')
    write_folder(tmp_path / 'far', dict.fromkeys(['a.jpg', 'b.jpg', 'c.jpg', 'd.jpg', 'e.jpg'], b''))
    dataset = ListedImages(f'{tmp_path}/list.csv', f'{tmp_path}/far')
    assert dataset.metainfo['classes'] == ('007', '9', '10', long)
    assert dataset.get_gt_labels().tolist() == [2, 1, 2, 3, 0]


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        (b'', r'l\.csv names no images'),
        (b'a.jpg,1\nx.jpg,2\ny.jpg,2', r'2 of the 3 files that .* do not exist, .* the first: x\.jpg, looked for in'),
        (b'a.jpg,1\na.jpg,2', r"names a\.jpg twice, with the labels '1' and '2'"),
        ('a\u00e9.jpg,1'.encode('latin-1'), r'cannot be read .*UTF-8'),
        (b'photo,label\n1,2', r'names no column of paths'),
        (b'a.jpg,"1\n' + b'x' * 200_000, r'cannot be read'),
        (b'a.jpg,1\nb.jpg;2', r"b\.jpg;2 is 1 cells, but the first line has 2: put ',' between"),
        (b'path,label\na.jpg,1\n./x/../a.jpg,2', r"names \./x/\.\./a\.jpg twice, with the labels '1' and '2'"),
        (b'a.jpg,"1\nb.jpg,2', r'cannot be read'),
    ],
)  # fmt: skip
def test_lists_that_are_wrong(text: bytes, message: str, tmp_path: Path) -> None:
    write_folder(tmp_path, {'a.jpg': b'', 'l.csv': text})
    with pytest.raises(UserError, match=message):
        ListedImages(f'{tmp_path}/l.csv')
    with pytest.raises(UserError, match=r'none\.csv cannot be read'):
        ListedImages(f'{tmp_path}/none.csv')


def test_classes_to_test_on_that_nothing_teaches(tmp_path: Path) -> None:
    write_folder(tmp_path, dict.fromkeys(['Train/a/1.jpg', 'Train/b/2.jpg', 'Val/a/3.jpg', 'Val/c/4.jpg'], b''))
    with pytest.raises(UserError, match=r'1 of 2 classes to test on have no image to learn from, such as c; name them'):
        FolderImages(str(tmp_path), lazy_init=True).survey()
    (tmp_path / 'Val/c').rename(tmp_path / 'Val/b')
    survey = FolderImages(str(tmp_path)).survey()
    assert (survey.images, survey.classes, survey.train, survey.test, survey.given) == (2, ('a', 'b'), 2, 2, True)


def test_images_of_one_name_in_two_tar_files_keep_their_labels(tmp_path: Path) -> None:
    for shard, label in (('a', b'1'), ('b', b'2')):
        write_tar(tmp_path / f'{shard}.tar', {f'{key}.{ending}': label for key in 'xyz' for ending in ('jpg', 'cls')})
    for split in ('train', 'test', 'pretrain'):
        dataset = TarImages(f'{tmp_path}/*.tar', split=split)
        infos = [dataset.get_data_info(index) for index in range(len(dataset))]
        assert all(info['read_bytes']().decode() == '12'[info['gt_label']] for info in infos if 'gt_label' in info)


def test_of_two_members_with_one_name_the_last_counts(tmp_path: Path) -> None:
    for content in (b'first', b'last'):
        (tmp_path / 'a.jpg').write_bytes(content)
        with tarfile.open(tmp_path / 'x.tar', 'a') as shard:
            shard.add(tmp_path / 'a.jpg', 'a.jpg')
    dataset = TarImages(f'{tmp_path}/x.tar', split='pretrain')
    assert [dataset.get_data_info(index)['read_bytes']() for index in range(len(dataset))] == [b'last']


def test_hard_links_in_tar_files_are_the_files_that_they_name(tmp_path: Path) -> None:
    write_folder(tmp_path, {'a.jpg': b'photo', 'a.cls': b'7'})
    os.link(tmp_path / 'a.jpg', tmp_path / 'b.jpg')
    os.link(tmp_path / 'a.cls', tmp_path / 'b.cls')
    with tarfile.open(tmp_path / 'x.tar', 'w') as shard:
        for name in ('a.jpg', 'a.cls', 'b.jpg', 'b.cls'):
            shard.add(tmp_path / name, f'./{name}')
    (tmp_path / 'x.tar').rename(tmp_path / 'x[1].tar')  # a name, not a pattern
    images = TarImages(f'{tmp_path}/x[1].tar', lazy_init=True).images()
    assert (images.names, images.labels) == (['a.jpg', 'b.jpg'], ['7', '7'])
    dataset = TarImages(f'{tmp_path}/x[1].tar')
    assert [dataset.get_data_info(index)['read_bytes']() for index in range(2)] == [b'photo'] * 2


def test_tar_files_that_name_their_split_and_images_with_several_endings(tmp_path: Path) -> None:
    for shard in ('train-0', 'train-1', 'val-0'):
        files = {'./a/.hidden.jpg': b'', f'./a/{shard}.cls': b'7', f'{shard}.txt': b''}
        write_tar(tmp_path / f'{shard}.tar', {f'./a/{shard}.{key}.jpg': key.encode() for key in 'xy'} | files)
    names = {'k.jpg': b'1', 'k.json': b'{"cls": 8}', 'l.jpg': b'2', 'l.json': b'[{}]'}
    write_tar(tmp_path / 'train-1.tar', names | {'k.seg.png': b'a mask', 'k.depth.png': b'a map'})
    train, test, learnt = (TarImages(f'{tmp_path}/*.tar', split=split) for split in ('train', 'test', 'pretrain'))
    assert labelled(train) == [(b'x', '7'), (b'y', '7'), (b'1', '8')] and len(learnt) == 4
    assert labelled(test) == [(b'x', '7'), (b'y', '7')]


def hard_link_to_nothing() -> bytes:
    member = tarfile.TarInfo('a.jpg')
    member.type, member.linkname = tarfile.LNKTYPE, 'elsewhere'
    return member.tobuf() + bytes(1024)


@pytest.mark.parametrize(
    ('content', 'message'),
    [
        (lambda whole, _: whole[:3000], 'cannot be read as a tar file'),
        (lambda whole, _: whole.rstrip(b'\0') + bytes(-len(whole.rstrip(b'\0')) % 512), 'at byte [0-9]+: .* truncated'),
        (lambda whole, _: whole + whole, 'at byte [0-9]+: what follows, from byte [0-9]+, .* is another tar file'),
        (lambda _, tar: tar({'a.jpg': b'', 'a.cls': b'1', 'a.json': b'{"cls": 2}'}), "a has two labels, '1' and '2'"),
        (lambda _, tar: tar({'a.jpg': b'', 'a.cls': bytes(2**24 + 1)}), 'at byte 512: .* too large: 16,777,217 bytes'),
        (lambda *_: hard_link_to_nothing(), 'a.jpg is a link, a pipe, a device or has holes'),
        (lambda whole, _: gzip.compress(whole), 'cannot be read as a tar file without compression'),
        (lambda _, tar: tar({'a.cls': b'1'}), 'no images in the 1 tar file'),
    ],
)
def test_tar_files_that_are_wrong(content: Callable, message: str, tmp_path: Path) -> None:
    pattern = write_shards(tmp_path, photos(6))
    whole = (tmp_path / 'shard-000.tar').read_bytes()
    (tmp_path / 'bad.tar').write_bytes(content(whole, lambda files: write_tar(tmp_path / 'x.tar', files).read_bytes()))
    with pytest.raises(UserError, match=message):
        TarImages(f'{tmp_path}/bad.tar')
    for missing in (pattern.replace('001', '004'), f'{tmp_path}/none*.tar'):
        with pytest.raises(UserError, match='there is no tar file'):
            TarImages(missing)


def test_a_damaged_tar_file_loses_no_image_without_a_word(tmp_path: Path) -> None:
    """Damage is one flipped bit in any byte of a header, or a cut at any block."""
    whole = write_tar(tmp_path / 'whole.tar', {'a.jpg': b'1', 'b.jpg': b'2', 'b.cls': b'3'}).read_bytes()
    damaged = [whole[:byte] + bytes([whole[byte] ^ 1]) + whole[byte + 1 :] for byte in range(1024, 1536)]
    damaged += [whole[:end] for end in range(512, len(whole), 512)]
    refused = 0
    for number, content in enumerate(damaged):
        (tmp_path / f'{number}.tar').write_bytes(content)
        try:
            assert TarImages(f'{tmp_path}/{number}.tar', lazy_init=True).images().names == ['a.jpg', 'b.jpg']
        except UserError as error:
            refused += 1
            assert f'{number}.tar cannot be read' in str(error) and 'at byte' in str(error)
    assert refused == 511 + 6  # all but the byte after the checksum; all 6 cuts that leave no block of zeros


@pytest.mark.parametrize('kind', ['tar', 'parquet'])
def test_unreadable_images_within_other_files_are_replaced_and_named(kind: str, tmp_path: Path) -> None:
    files = {'ant/0.jpg': b'', 'ant/1.jpg': b'no image', 'bee/2.jpg': photo(3)[:500], 'bee/3.jpg': photo(5)}
    dataset = KeyedDataset(dict(**source_config(write_all(tmp_path, files)[kind]), pipeline=PIPELINE))
    kinds = []
    for index in range(4):
        packed = dataset[index]
        kinds += [note.kind for note in packed['data_samples'].get('unreadable', [])[:1]]
        assert len(packed['inputs']) == 2
    assert kinds == ['empty', 'no image', 'damaged']


def test_columns_of_tables_are_found_by_name_or_type(tmp_path: Path) -> None:
    import pyarrow
    import pyarrow.parquet

    photos = [dict(bytes=photo(i), path=None) for i in range(4)]
    for split in ('train', 'test'):
        rows = pyarrow.table(dict(img=photos, other=photos, target=['b', 'a', 'b', None]))
        (tmp_path / 'named').mkdir(exist_ok=True)
        pyarrow.parquet.write_table(rows, tmp_path / f'named/{split}-00000-of-00001.parquet')
    test = built(f'hf:{tmp_path}/named', 'test')
    assert labelled(test) == [(photo(i), 'bab'[i]) for i in range(3)]
    pyarrow.parquet.write_table(pyarrow.table(dict(scan=photos, kind=['b', 'a', 'b', 'a'])), tmp_path / 'a.parquet')
    with pytest.raises(UserError, match=r'no columns of images among scan, kind: call one image, by rename_column'):
        built(f'hf:{tmp_path}/a.parquet')


def test_splits_that_name_other_classes(tmp_path: Path) -> None:
    from datasets import ClassLabel, Dataset, DatasetDict, Features, Image

    def table(names: list[str], labels: list[int]) -> Dataset:
        rows = dict(image=[dict(bytes=photo(i), path=None) for i in range(len(labels))], label=labels)
        return Dataset.from_dict(rows, Features(image=Image(), label=ClassLabel(names=names)))

    splits = dict(train=table(['a', 'b', 'c'], [0, 1, 2, -1]), test=table(['b', 'a'], [0, 1]))
    DatasetDict(splits).save_to_disk(tmp_path / 'fewer')
    train, test = (built(f'hf:{tmp_path}/fewer', part) for part in ('train', 'test'))
    assert train.metainfo['classes'] == ('a', 'b', 'c')
    assert (train.get_gt_labels().tolist(), test.get_gt_labels().tolist()) == ([0, 1, 2], [1, 0])
    several = dict(image=[dict(bytes=photo(i), path=None) for i in range(4)], label=[[0], [1], [0, 1], [0]])
    Dataset.from_dict(several).save_to_disk(tmp_path / 'several')
    assert 'without labels' in str(built(f'hf:{tmp_path}/several').survey())


def test_tables_that_are_wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / 'bad.parquet').write_bytes(b'PAR1')
    (tmp_path / 'empty').mkdir()
    for path in ('bad.parquet', 'none', 'empty'):
        with pytest.raises(UserError, match=r'cannot be read as a data set of Hugging Face'):
            HuggingFaceImages(str(tmp_path / path))
    monkeypatch.setitem(sys.modules, 'datasets', None)
    with pytest.raises(UserError, match=r"needs the package datasets: pip install 'mixcl\[datasets\]'"):
        HuggingFaceImages(str(tmp_path / 'none'))


def test_pipes_are_neither_in_lists_nor_lists(tmp_path: Path) -> None:
    write_folder(tmp_path, {'l.csv': b'a.jpg'})
    os.mkfifo(tmp_path / 'a.jpg')
    with pytest.raises(UserError, match=r'1 of the 1 files that .* are no files, the first: a\.jpg'):
        ListedImages(f'{tmp_path}/l.csv')
    with pytest.raises(UserError, match=r'cannot be read \(.* a pipe or a device, not a file'):
        ListedImages(f'{tmp_path}/a.jpg')


@pytest.mark.parametrize('spec', ['photos', 'zip:photos', 'folder:'])
def test_what_is_no_source(spec: str) -> None:
    with pytest.raises(UserError, match=r'is none of folder:PATH, list:PATH\.csv'):
        source_config(spec)
    with pytest.raises(UserError, match='only a list has a root'):
        source_config('folder:photos', '/data')
