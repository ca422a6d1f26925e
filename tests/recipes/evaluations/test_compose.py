"""Recipes and data sets combined: which images a protocol sees, and a user's own data set file."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import cv2
import numpy as np
import pytest
import torch
from evaluation.checkpoints import TINY_VIT
from evaluation.composed import composed, composed_facts
from mmcv.transforms import Compose
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.recipes.evaluations.composing import data_set
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.facts import read_facts
from mixcl.recipes.images import image_size
from mixcl.recipes.making import made
from mixcl.recipes.pipelines import augmented_pipeline, evaluated_view, evaluation_pipeline
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


def views_of(data: str) -> Iterator[tuple[str, int, dict[str, list]]]:
    """Yield the views of a data set: name, side in pixels, and pipelines of training and test."""
    facts = composed_facts('finetune', data)
    for name in {'plain', *facts.evaluated.views}:
        recipe = read_facts({**facts, 'views': name})
        view = evaluated_view(recipe)
        pipelines = [augmented_pipeline(recipe, view), evaluation_pipeline(recipe.data, recipe.steps, view)]
        yield name, view.size, dict(zip(('train', 'test'), pipelines, strict=True))


def test_all_views_of_all_data_sets(tmp_path: Path) -> None:
    for data in CLASSES:
        for name, size, view in views_of(data):
            assert size == (224 if name == 'enlarged' else SIZES[data])
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
    preprocessor = MODELS.build(composed('linear', 'in1k').data_preprocessor)
    for name, _, view in views_of('in1k'):
        if name == 'randaugment':
            continue
        inputs = prepared(view['train'], tmp_path / 'image.png')['inputs']
        assert inputs[0].float().mean() > inputs[1].float().mean() > inputs[2].float().mean()
        red, _, blue = preprocessor(dict(inputs=inputs[None]))['inputs'][0]
        assert red.mean() < blue.mean()


def test_what_every_data_set_gives_every_protocol() -> None:
    for protocol, data in itertools.product(('linear', 'finetune', 'semi', 'supervised'), CLASSES):
        cfg = composed(protocol, data)
        assert cfg.protocol.name == protocol
        assert cfg.data_preprocessor.num_classes == cfg.model.head.num_classes == CLASSES[data]
        assert cfg.train_dataloader.dataset.type == 'mixcl.KeyedDataset' and cfg.val_dataloader == cfg.test_dataloader
        assert (cfg.train_dataloader.dataset.dataset.type == 'LabelledSubset') == (protocol == 'semi')
        # on eight processes, or on one
        assert cfg.train_dataloader.batch_size == cfg.recipe.batch // (8 if data in ('in1k', 'in100') else 1)
        assert innermost(cfg.test_dataloader.dataset).split == ('val' if SIZES[data] == 224 else 'test')
    for protocol, data in itertools.product(('knn', 'linear_fast', 'few_labels', 'quality'), CLASSES):
        cfg = composed(protocol, data)
        assert cfg.get('train_cfg') is None and (image_size(cfg), cfg.protocol.crop) == (SIZES[data],) * 2
        bank, queries = (innermost(loader.dataset) for loader in (cfg.test_cfg.bank_dataloader, cfg.test_dataloader))
        assert bank.split == 'train' != queries.split and bank.pipeline == queries.pipeline


def test_small_images_are_enlarged_for_residual_networks_with_the_large_stem() -> None:
    for protocol in ('linear', 'finetune', 'semi'):
        sizes = [image_size(composed(protocol, 'cifar10', backbone=b)) for b in (RESNET, CIFAR_RESNET)]
        assert sizes == [224, 32]
    assert image_size(composed('knn', 'cifar10', backbone=RESNET)) == 32


def test_labels() -> None:
    subset = composed('semi', 'in1k', recipe='1percent').train_dataloader.dataset.dataset
    assert subset.list_file == '1percent.txt'
    cfg = composed('semi', 'cifar10')
    assert (cfg.train_dataloader.dataset.dataset.share, cfg.protocol.share, cfg.protocol.seed) == (0.1, 0.1, 0)


def test_a_new_data_set_is_one_file_and_every_protocol_has_it(tmp_path: Path) -> None:
    (tmp_path / 'mine.py').write_text(
        "_base_ = 'mixcl::_base_/data/digits.py'\nevaluated = dict(classes=4, linear=dict(randomness=dict(seed=3)))\n"
    )
    protocols = ('knn', 'linear_fast', 'linear', 'finetune', 'semi', 'supervised', 'quality')
    evaluations = planned(protocols, str(tmp_path / 'mine.py'), Subject())
    assert [evaluation.protocol for evaluation in evaluations] == list(protocols)
    assert [each.cfg.model.head.num_classes for each in evaluations if each.trains] == [4] * 4
    assert [each.cfg.randomness.seed for each in evaluations] == [7, 7, 3, 7, 7, 7, 7]
    assert evaluations[0].name.startswith('knn_mine_online-')


def test_data_sets_that_a_protocol_has_not() -> None:
    for data, protocol, message in (
        ('stl10', 'knn', r"data='stl10': there is no .*; there are cifar10, cifar100, "),
        ('voc07', 'knn', 'knn is not for the data set voc07; choose another by `data`'),
        ('digits', 'robustness', 'robustness is not for the data set digits; choose in1k or imagenet-a or '),
        ('cifar10', 'svm', 'svm is not for the data set cifar10; choose voc07 by `data`'),
    ):
        with pytest.raises(UserError, match=message):
            data_set(data, protocol)


DIGITS = "_base_ = 'mixcl::_base_/data/digits.py'\n"


@pytest.mark.parametrize(
    ('text', 'message'),
    [
        ('evaluated = dict(liek="digits")', "evaluated has no 'liek'"),
        ('evaluated = dict(linaer=dict(batch=3))', "evaluated has no 'linaer'; did you mean 'linear'"),
        ('evaluated = dict(own=dict(men=[1]))', "evaluated.own has no 'men'; did you mean 'mean'"),
        (
            'evaluated = dict(views=dict(plian=dict()))',
            'evaluated.views.plian is read by no recipe; did you mean ',
        ),
        ('evaluated = dict(views=dict(plain=3))', 'evaluated.views.plain=3 must be a dict'),
        ('evaluated = dict(knn=3)', 'evaluated.knn=3 must be a dict'),
        ('evaluated = 3', 'says no evaluated, which must be a dict'),
        ('data = dict(splits=dict(trian=dict()))', "data.splits has no 'trian'; did you mean 'train'"),
        ('data = dict(splits=dict(train=3))', r'data\.splits\.train=3 must be a dict'),
        ('data = dict(size=32, resize=18)', 'resized to 18 pixels .data.resize., too few for crops of 32'),
        ('evalutaed = dict(classes=3)', "evalutaed is read by nothing; did you mean 'evaluated'"),
    ],
)
def test_slips_in_a_data_set_are_told(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / 'mine.py').write_text(f'{DIGITS}{text}\n')
    with pytest.raises(UserError, match=message):
        planned(['knn'], str(tmp_path / 'mine.py'), Subject())


def test_a_data_set_needs_no_more_than_its_classes_and_its_size_may_be_overridden(tmp_path: Path) -> None:
    images = "data = dict(images=dict(type='Digits'), size=16, resize=16)\n"
    text = f"_base_ = 'mixcl::_base_/runtime.py'\n{images}evaluated = dict(classes=10)\n"
    (tmp_path / 'least.py').write_text(text)
    subject = Subject(backbone=dict(type='ContrastiveViT', arch=TINY_VIT['arch'], patch_size=4))
    (knn,) = planned(['knn'], str(tmp_path / 'least.py'), subject, overrides={'data.size': 8})
    assert (knn.cfg.model.backbone.img_size, knn.cfg.protocol.crop, knn.cfg.protocol.resize) == (8, 8, 16)


def test_processes_share_the_batch() -> None:
    for at_once, processes, expected, accumulated in ((128, 8, 128, 1), (128, 1, 128, 8), (128, 16, 64, 1)):
        facts = composed_facts('linear', 'in1k')
        facts.at_once = at_once
        cfg = made(facts, processes)
        found = cfg.train_dataloader.batch_size, cfg.optim_wrapper.get('accumulative_counts', 1)
        assert found == (expected, accumulated) and expected * accumulated * processes == facts.batch == 1024
        assert cfg.train_dataloader.sampler.multiple_of == 1024  # epochs end with a step
        assert cfg.optim_wrapper.optimizer.lr == pytest.approx(0.08)
    with pytest.raises(UserError, match='7 processes cannot share batch=1024 evenly'):
        made(facts, 7)
