"""Recipes and data sets combined: which images a protocol sees, and a user's own data set file."""

import itertools
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from evaluation.composed import CONFIGS, composed
from mmcv.transforms import Compose
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.recipes.evaluations.adaptation import image_size
from mixcl.recipes.evaluations.composing import keep_batch, read_data_set
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.subject import Subject
from mixcl.registry import MODELS

CLASSES = dict(in1k=1000, in100=100, tinyimagenet=200, cifar10=10, cifar100=100, digits=10, fashionmnist=10)
SIZES = dict.fromkeys(CLASSES, 224) | dict(cifar10=32, cifar100=32, digits=16, fashionmnist=28)
RESNET, CIFAR_RESNET = (dict(type=f'mmpretrain.{name}', depth=18) for name in ('ResNet', 'ResNet_CIFAR'))


def innermost(images: Config) -> Config:
    return innermost(images.dataset) if 'dataset' in images else images


def prepared(pipeline: list, path: Path) -> dict:
    results = dict(img_path=str(path), gt_label=1)
    if pipeline[0]['type'] != 'LoadImage':
        results['img'] = cv2.imread(str(path))
    with DefaultScope.overwrite_default_scope('mixcl'):
        return Compose(pipeline)(results)


def test_all_views_of_all_data_sets(tmp_path: Path) -> None:
    for data, classes in CLASSES.items():
        images = read_data_set(CONFIGS, data, 'linear')
        assert images.num_classes == classes and images.splits.train != images.splits.test
        for name, view in images.views.items():
            size = 224 if name == 'enlarged' else SIZES[data]
            shape = (size, size) if size <= 32 else (40, 48)
            pixels = np.random.default_rng(0).integers(0, 256, (*shape, 3)).astype(np.uint8)
            cv2.imwrite(str(tmp_path / 'image.png'), pixels)
            for part in ('train', 'test'):
                packed = prepared(view[part], tmp_path / 'image.png')
                noisy = part == 'train' and name in ('jitter', 'randaugment')
                assert packed['inputs'].shape == (3, size, size), (data, name, part)
                assert packed['inputs'].dtype == (torch.float32 if noisy else torch.uint8)
                assert packed['data_samples'].gt_label.item() == 1


def test_training_images_stay_in_the_order_that_the_preprocessor_turns(tmp_path: Path) -> None:
    cv2.imwrite(str(tmp_path / 'image.png'), np.full((40, 40, 3), (220, 120, 20), dtype=np.uint8))
    preprocessor = MODELS.build(composed('linear', 'in1k', builds=False).data_preprocessor)
    for name, view in read_data_set(CONFIGS, 'in1k', 'linear').views.items():
        if name == 'randaugment':
            continue
        inputs = prepared(view['train'], tmp_path / 'image.png')['inputs']
        assert inputs[0].float().mean() > inputs[1].float().mean() > inputs[2].float().mean()
        red, _, blue = preprocessor(dict(inputs=inputs[None]))['inputs'][0]
        assert red.mean() < blue.mean()


def test_what_every_data_set_gives_every_protocol() -> None:
    for protocol, data in itertools.product(('linear', 'finetune', 'semi', 'supervised'), CLASSES):
        cfg = composed(protocol, data, builds=False)
        assert cfg.protocol.name == protocol
        assert cfg.data_preprocessor.num_classes == cfg.model.head.num_classes == CLASSES[data]
        assert cfg.train_dataloader.dataset.type == 'KeyedDataset' and cfg.val_dataloader == cfg.test_dataloader
        assert (cfg.train_dataloader.dataset.dataset.type == 'LabelledSubset') == (protocol == 'semi')
        # on eight processes, or on one
        at_once = cfg.auto_scale_lr.base_batch_size // (8 if data in ('in1k', 'in100') else 1)
        assert cfg.train_dataloader.batch_size == at_once
        assert innermost(cfg.test_dataloader.dataset).split == ('val' if SIZES[data] == 224 else 'test')
    for protocol, data in itertools.product(('knn', 'linear_fast', 'few_labels', 'quality'), CLASSES):
        cfg = composed(protocol, data, builds=False)
        assert cfg.get('train_cfg') is None and (image_size(cfg), cfg.protocol.crop) == (SIZES[data],) * 2
        bank, queries = (innermost(loader.dataset) for loader in (cfg.test_cfg.bank_dataloader, cfg.test_dataloader))
        assert bank.split == 'train' != queries.split and bank.pipeline == queries.pipeline


def test_small_images_are_enlarged_for_residual_networks_with_the_large_stem() -> None:
    for protocol in ('linear', 'finetune', 'semi'):
        sizes = [image_size(composed(protocol, 'cifar10', backbone=b, builds=False)) for b in (RESNET, CIFAR_RESNET)]
        assert sizes == [224, 32]
    assert image_size(composed('knn', 'cifar10', backbone=RESNET, builds=False)) == 32


def test_labels() -> None:
    subset = composed('semi', 'in1k', recipe='1percent', builds=False).train_dataloader.dataset.dataset
    assert subset.list_file == '1percent.txt'
    cfg = composed('semi', 'cifar10', builds=False)
    assert (cfg.train_dataloader.dataset.dataset.share, cfg.protocol.share, cfg.protocol.seed) == (0.1, 0.1, 0)


def test_a_new_data_set_is_one_file_and_every_protocol_has_it(tmp_path: Path) -> None:
    configs = tmp_path / 'configs'
    configs.mkdir()
    for folder in ('_base_', 'evaluation/_base_', 'evaluation/recipes'):
        (configs / folder).parent.mkdir(exist_ok=True)
        (configs / folder).symlink_to(CONFIGS / folder)
    (configs / 'evaluation/datasets').mkdir()
    (configs / 'evaluation/datasets/mine.py').write_text(
        f"_base_ = '{CONFIGS}/evaluation/datasets/digits.py'\nnum_classes = 4\nlinear = dict(randomness=dict(seed=3))\n"
    )
    protocols = ('knn', 'linear_fast', 'linear', 'finetune', 'semi', 'supervised', 'quality')
    evaluations = planned(configs, protocols, 'mine', Subject())
    assert [evaluation.protocol for evaluation in evaluations] == list(protocols)
    assert [each.cfg.model.head.num_classes for each in evaluations if each.trains] == [4] * 4
    assert [each.cfg.randomness.seed for each in evaluations] == [7, 7, 3, 7, 7, 7, 7]


def test_data_sets_that_a_protocol_has_not() -> None:
    for data, protocol, message in (
        ('stl10', 'knn', r'no data set stl10 under .*, only cifar10, cifar100, .*; choose one'),
        ('voc07', 'knn', 'knn is not for the data set voc07; choose another by `data`'),
        ('digits', 'robustness', 'robustness is not for the data set digits; choose in1k or imagenet-a or '),
        ('cifar10', 'svm', 'svm is not for the data set cifar10; choose voc07 by `data`'),
    ):
        with pytest.raises(UserError, match=message):
            read_data_set(CONFIGS, data, protocol)


def test_processes_share_the_batch() -> None:
    for batch_size, batch, processes, at_once, accumulated in (
        (128, 1024, 8, 128, 1),
        (128, 1024, 1, 128, 8),
        (128, 1024, 16, 64, 1),
        (100, 256, 1, 64, 4),
    ):
        loader, scale = dict(batch_size=batch_size, sampler=dict(type='KeyedSampler')), dict(base_batch_size=batch)
        cfg = Config(dict(config_name='x', train_dataloader=loader, optim_wrapper={}, auto_scale_lr=scale))
        keep_batch(cfg, processes)
        found = cfg.train_dataloader.batch_size, cfg.optim_wrapper.get('accumulative_counts', 1)
        assert found == (at_once, accumulated) and at_once * accumulated * processes == batch
    with pytest.raises(UserError, match=r'x trains with batches of \d+ images, which 7 processes cannot share'):
        keep_batch(cfg, 7)
