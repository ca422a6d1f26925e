"""Samples are functions of (seed, epoch, index), and unreadable images are replaced."""

import hashlib
from pathlib import Path

import pytest
import torch
from mmcv.transforms import BaseTransform
from mmengine.dataset import default_collate
from torch.utils.data import DataLoader

from mixcl.datasets import KeyedDataset, KeyedSampler, SampleKey, SyntheticImages
from mixcl.datasets.unreadable import ImageNote
from mixcl.errors import UserError
from mixcl.registry import TRANSFORMS

VIEW = [
    dict(type='mmpretrain.RandomResizedCrop', scale=8, backend='pillow', interpolation='bicubic'),
    dict(
        type='RandomApply',
        prob=0.8,
        transforms=dict(type='mmpretrain.ColorJitter', brightness=0.4, contrast=0.4, saturation=0.2, hue=0.1),
    ),
    dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=0.5),
    dict(type='RandomFlip', prob=0.5),
]
PIPELINE = [
    dict(type='LoadImage'),
    dict(type='KeyedMultiView', num_views=[2], transforms=[VIEW]),
    dict(type='mmpretrain.PackInputs'),
]


def synthetic(num_images: int = 24) -> KeyedDataset:
    return KeyedDataset(SyntheticImages(num_images=num_images, image_size=16, pipeline=PIPELINE))


def folder(path: Path) -> KeyedDataset:
    return KeyedDataset(dict(type='ImageFolder', data_root=str(path), pipeline=PIPELINE))


def digest(view: torch.Tensor) -> str:
    return hashlib.sha256(view.numpy().tobytes()).hexdigest()


def view_hashes(loader: DataLoader, epoch: int) -> list[tuple[int, int, str]]:
    """(index, view, hash) of an epoch, in the order of arrival."""
    loader.sampler.set_epoch(epoch)
    return [
        (sample.sample_idx, view, digest(images[row]))
        for batch in loader
        for row, sample in enumerate(batch['data_samples'])
        for view, images in enumerate(batch['inputs'])
    ]


def epochs_of_views(num_workers: int = 0, persistent: bool = False, first: int = 0) -> list[list[tuple[int, int, str]]]:
    dataset = synthetic()
    loader = DataLoader(
        dataset,
        batch_size=4,
        sampler=KeyedSampler(dataset, seed=7),
        num_workers=num_workers,
        persistent_workers=persistent,
        collate_fn=default_collate,
    )
    return [view_hashes(loader, epoch) for epoch in range(first, 3)]


@pytest.mark.parametrize(('num_workers', 'persistent'), [(1, False), (3, True)])
def test_views_do_not_depend_on_the_workers(num_workers: int, persistent: bool) -> None:
    assert epochs_of_views(num_workers, persistent) == epochs_of_views()


def test_every_view_of_every_epoch_differs_and_a_resumed_run_sees_the_same() -> None:
    first, second, third = epochs_of_views()
    assert len({entry[2] for entry in first + second + third}) == 3 * 2 * 24
    assert sorted(entry[:2] for entry in first) == sorted(entry[:2] for entry in second)
    assert [entry[0] for entry in first] != [entry[0] for entry in second]
    assert epochs_of_views(first=1) == [second, third]


def test_views_do_not_depend_on_the_number_of_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    (alone, *_), dataset = epochs_of_views(), synthetic()
    together = []
    for rank in range(2):
        monkeypatch.setattr('mixcl.datasets.samplers.keyed.get_dist_info', lambda rank=rank: (rank, 2))
        sampler = KeyedSampler(dataset, seed=7)
        together += view_hashes(DataLoader(dataset, 4, sampler=sampler, collate_fn=default_collate), epoch=0)
    assert len(together) == len(alone)
    assert set(together) == set(alone)


def test_an_integer_stands_for_epoch_0_of_seed_0() -> None:
    dataset = synthetic()
    by_integer, by_key = dataset[3], dataset[SampleKey(0, 0, 3)]
    assert all(map(torch.equal, by_integer['inputs'], by_key['inputs']))
    assert by_integer['data_samples'].gt_label.item() == 3 and 'unreadable' not in by_integer['data_samples']


def test_unreadable_images_are_replaced_by_images_that_the_key_decides(tmp_path: Path, write_images) -> None:
    write_images(tmp_path, [f'{number}.png' for number in range(2, 8)])
    (tmp_path / '0.png').write_text('no image')
    (tmp_path / '1.png').touch()
    dataset = folder(tmp_path)
    substitutes, again = ([dataset[SampleKey(0, epoch, 0)]['data_samples'] for epoch in range(30)] for _ in range(2))
    chosen = [sample.sample_idx for sample in substitutes]
    assert chosen == [sample.sample_idx for sample in again]
    assert set(chosen) <= set(range(2, 8)) and len(set(chosen)) > 2
    for sample in substitutes:
        failures = {note.path: note.reason for note in sample.unreadable}
        assert failures[str(tmp_path / '0.png')] == 'not an image'
        assert set(failures) <= {str(tmp_path / '0.png'), str(tmp_path / '1.png')}


def test_failures_travel_from_a_worker_in_the_packed_sample(tmp_path: Path, write_images) -> None:
    write_images(tmp_path, ['1.png'])
    (tmp_path / '0.png').touch()
    loader = DataLoader(folder(tmp_path), batch_size=2, num_workers=1, collate_fn=default_collate)
    (batch,) = loader
    assert [sample.get('unreadable') for sample in batch['data_samples']] == [
        [ImageNote(str(tmp_path / '0.png'), 'empty', 'the file is empty')],
        None,
    ]


def message_of_error(loader: DataLoader) -> str:
    try:
        list(loader)
    except UserError as error:
        # It refers to the loader, whose worker would then be stopped, slowly, by the garbage collector.
        error.__traceback__ = None
        return str(error)
    return 'no error'


@pytest.mark.parametrize(('num_images', 'attempts', 'num_workers'), [(3, 3, 0), (30, 20, 1)])
def test_one_sentence_when_no_image_can_be_read(
    tmp_path: Path, num_images: int, attempts: int, num_workers: int
) -> None:
    for number in range(num_images):
        (tmp_path / f'{number}.jpg').touch()
    loader = DataLoader(folder(tmp_path), num_workers=num_workers, collate_fn=default_collate)
    assert message_of_error(loader) == (
        f'none of {attempts} images tried in {tmp_path} could be read; the first: {tmp_path / "0.jpg"} '
        '(the file is empty); check the files or give another folder'
    )


def test_other_errors_of_a_pipeline_are_not_taken_for_unreadable_images() -> None:
    def broken(results: dict) -> dict:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        KeyedDataset(SyntheticImages(num_images=2, image_size=4, pipeline=[broken]))[0]


def test_data_sets_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='SyntheticImages has no images'):
        KeyedDataset(dict(type='SyntheticImages', num_images=0, image_size=4))
    with pytest.raises(UserError, match='given a list'):
        KeyedDataset([1, 2])
    root = str(tmp_path / 'none')
    for name, settings in dict(CIFAR10=dict(download=False), ImageNet=dict(split='train')).items():
        with pytest.raises(UserError, match=f'{name} has no images or could not be loaded from .*none.*--data-root'):
            KeyedDataset(dict(type=f'mmpretrain.{name}', data_root=root, **settings))


@TRANSFORMS.register_module(force=True)
class DarkImagesOnly(BaseTransform):
    """Leaves nothing of an image whose mean is not below a level."""

    def __init__(self, level: float) -> None:
        self.level = level

    def transform(self, results: dict) -> dict | None:
        return results if results['img'].mean() < self.level else None


def selective(level: float) -> KeyedDataset:
    pipeline = [dict(type='DarkImagesOnly', level=level), dict(type='mmpretrain.PackInputs')]
    return KeyedDataset(SyntheticImages(num_images=24, image_size=16, pipeline=pipeline))


def test_another_image_takes_the_place_of_one_of_which_the_pipeline_leaves_nothing() -> None:
    means = [sample['inputs'].float().mean().item() for sample in selective(256)]
    level = sum(sorted(means)[11:13]) / 2
    dataset = selective(level)
    indices, again = ([dataset[SampleKey(0, 3, index)]['data_samples'].sample_idx for index in range(24)] for _ in '12')
    dark = {index for index, mean in enumerate(means) if mean < level}
    assert indices == again and set(indices) <= dark and all(indices[index] == index for index in dark)
    with pytest.raises(UserError, match='the pipeline leaves nothing of any of 20 images tried'):
        selective(0)[0]


def test_a_concatenation_is_one_data_set_with_a_pipeline_for_each_part() -> None:
    def part(num_images: int, size: int) -> dict:
        resize = dict(type='Resize', scale=(size, size))
        pipeline = [resize, dict(type='mmpretrain.PackInputs')]
        return dict(type='SyntheticImages', num_images=num_images, image_size=16, pipeline=pipeline)

    dataset = KeyedDataset(dict(type='ConcatDataset', datasets=[part(2, 4), part(3, 6)]))
    assert [sample['inputs'].shape[-1] for sample in map(dataset.__getitem__, range(5))] == [4, 4, 6, 6, 6]
    assert dataset.metainfo['classes'] == SyntheticImages(num_images=1, image_size=4).metainfo['classes']
    assert dataset.get_data_info(SampleKey(0, 1, 3))['sample_idx'] == dataset.get_data_info(3)['sample_idx'] == 1
