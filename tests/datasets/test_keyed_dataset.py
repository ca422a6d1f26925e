"""Samples are functions of (seed, epoch, index), and unreadable images are replaced."""

from pathlib import Path

import pytest
from mmengine.dataset import default_collate
from own_sources import write_folder
from torch.utils.data import DataLoader

from mixcl.datasets import KeyedDataset, KeyedSampler, SampleKey, SyntheticImages, ViewPreprocessor
from mixcl.errors import UserError

PACK = dict(type='mmpretrain.PackInputs')
VIEW = [
    dict(type='mmpretrain.RandomResizedCrop', scale=8, backend='pillow', interpolation='bicubic'),
    dict(type='RandomApply', prob=0.8, transforms=dict(type='mmpretrain.ColorJitter', brightness=0.4, hue=0.1)),
    dict(type='mmpretrain.GaussianBlur', magnitude_range=(0.1, 2.0), magnitude_std='inf', prob=0.5),
    dict(type='RandomFlip', prob=0.5),
]
PIPELINE = [dict(type='LoadImage'), dict(type='KeyedMultiView', num_views=[2], transforms=[VIEW]), PACK]


def synthetic(num_images: int = 24, pipeline: list = PIPELINE, views: str = 'pillow') -> KeyedDataset:
    return KeyedDataset(SyntheticImages(num_images=num_images, image_size=16, pipeline=pipeline), views)


def folder(path: Path) -> KeyedDataset:
    return KeyedDataset(dict(type='ImageFolder', data_root=str(path), pipeline=PIPELINE))


def views_of_epochs(first: int = 0, views: str = 'pillow', **options: object) -> list[list[tuple[int, int, bytes]]]:
    """Return (index, view, pixels) of epochs up to the third, in order of arrival."""
    dataset = synthetic(views=views)
    sampler = KeyedSampler(dataset, seed=7)
    loader = DataLoader(dataset, batch_size=4, sampler=sampler, collate_fn=default_collate, **options)
    epochs = []
    for epoch in range(first, 3):
        sampler.set_epoch(epoch)
        epochs.append(
            [
                (sample.sample_idx, view, images[row].numpy().tobytes())
                for batch in loader
                for row, sample in enumerate(batch['data_samples'])
                for view, images in enumerate(ViewPreprocessor()(batch)['inputs'])
            ]
        )
    return epochs


@pytest.mark.parametrize(('workers', 'views'), [(1, 'pillow'), (2, 'pillow'), (2, 'device')])
def test_views_do_not_depend_on_the_workers(workers: int, views: str) -> None:
    found = views_of_epochs(views=views, num_workers=workers, persistent_workers=workers > 1)
    assert found == views_of_epochs(views=views)


def test_every_view_of_every_epoch_differs_and_a_resumed_run_sees_the_same() -> None:
    first, second, third = views_of_epochs()
    assert len({entry[2] for entry in first + second + third}) == 3 * 2 * 24
    assert sorted(entry[:2] for entry in first) == sorted(entry[:2] for entry in second)
    assert [entry[0] for entry in first] != [entry[0] for entry in second]
    assert views_of_epochs(first=1) == [second, third]


def test_unreadable_images_are_replaced_by_images_that_the_key_decides(tmp_path: Path) -> None:
    write_folder(tmp_path, [f'{number}.png' for number in range(2, 8)])
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


@pytest.mark.parametrize(('num_images', 'attempts', 'num_workers'), [(3, 3, 0), (30, 20, 1)])
def test_one_sentence_if_no_image_can_be_read(tmp_path: Path, num_images: int, attempts: int, num_workers: int) -> None:
    for number in range(num_images):
        (tmp_path / f'{number}.jpg').touch()
    with pytest.raises(UserError) as error:
        list(DataLoader(folder(tmp_path), num_workers=num_workers, collate_fn=default_collate))
    assert str(error.value) == (
        f'none of {attempts} images tried in {tmp_path} could be read; the first: {tmp_path / "0.jpg"} '
        '(the file is empty); check the files or give another folder'
    )
    # The traceback refers to the loader, whose worker the garbage collector would stop slowly.
    error.value.__traceback__ = None


def test_data_sets_that_cannot_be_used(tmp_path: Path) -> None:
    with pytest.raises(UserError, match='SyntheticImages has no images'):
        KeyedDataset(dict(type='SyntheticImages', num_images=0, image_size=4))
    with pytest.raises(UserError, match='given a list'):
        KeyedDataset([1, 2])
    cifar = dict(type='mmpretrain.CIFAR10', data_root=str(tmp_path / 'none'), download=False)
    with pytest.raises(UserError, match=r'CIFAR10 has no images or could not be loaded from .*none.*`data_root`'):
        KeyedDataset(cifar)


def test_another_image_takes_the_place_of_one_of_which_the_pipeline_leaves_nothing() -> None:
    dataset = synthetic(pipeline=[lambda results: results if results['gt_label'] else None, PACK])
    labels = [dataset[SampleKey(0, 3, index)]['data_samples'].gt_label.item() for index in range(24)]
    assert all(labels) and all(label == index % 4 for index, label in enumerate(labels) if index % 4)
    with pytest.raises(UserError, match='the pipeline drops each of 20 images tried'):
        synthetic(pipeline=[lambda results: None])[0]


def test_a_concatenation_is_one_data_set_with_a_pipeline_for_each_part() -> None:
    def part(num_images: int, size: int) -> dict:
        pipeline = [dict(type='Resize', scale=(size, size)), PACK]
        return dict(type='SyntheticImages', num_images=num_images, image_size=16, pipeline=pipeline)

    dataset = KeyedDataset(dict(type='ConcatDataset', datasets=[part(2, 4), part(3, 6)]))
    assert [sample['inputs'].shape[-1] for sample in map(dataset.__getitem__, range(5))] == [4, 4, 6, 6, 6]
    assert dataset.metainfo['classes'] == SyntheticImages(num_images=1, image_size=4).metainfo['classes']
    assert dataset.get_data_info(SampleKey(0, 1, 3))['sample_idx'] == dataset.get_data_info(3)['sample_idx'] == 1
