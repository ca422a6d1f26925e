"""Data folders, annotations and weights are found anywhere in a config."""

from pathlib import Path

import pytest
from mmengine.config import Config
from mmpretrain.datasets import CIFAR10

from mixcl.errors import UserError
from mixcl.recipes.data_roots import check_data_roots, check_files, check_metric_files
from mixcl.recipes.length import Fit
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.recipes.sections_only import set_data_root
from mixcl.shipped import config_of


def config(train: object = 'a', bank: object = 'b') -> Config:
    return Config(
        dict(
            images=dict(data_root='variable'),
            train_dataloader=dict(dataset=dict(type='ConcatDataset', datasets=[dict(data_root=train), dict(x=1)])),
            val_cfg=dict(type='FeatureLoop', bank_dataloader=dict(dataset=dict(data_root=bank))),
        )
    )


def test_the_root_of_every_data_set_is_set() -> None:
    cfg = config(train=None)
    set_data_root(cfg, '/data')
    assert cfg.train_dataloader.dataset.datasets == [dict(data_root='/data'), dict(x=1)]
    assert cfg.val_cfg.bank_dataloader.dataset.data_root == '/data'
    assert cfg.images.data_root == 'variable'
    with pytest.raises(UserError, match='`data_root=/data`: no data set'):
        set_data_root(Config(dict(images=dict(data_root='x'), train_dataloader=dict(dataset=dict(split='a')))), '/data')


def test_folders_must_hold_something(tmp_path: Path) -> None:
    (tmp_path / 'full').mkdir()
    (tmp_path / 'empty').mkdir()
    file = tmp_path / 'full/images.zip'
    file.touch()
    for root in (str(file.parent), None, '', 's3://bucket/images'):
        check_data_roots(config(root, root))
    for root, problem in (
        (tmp_path / 'missing', 'does not exist'),
        (file, 'does not exist'),
        (tmp_path / 'empty', 'is empty'),
    ):
        place = r'\(val_cfg\.bank_dataloader\.dataset\.data_root\)'
        with pytest.raises(UserError, match=rf"'{root}' {place} {problem}.*`data_root=DIR`"):
            check_data_roots(config(str(file.parent), str(root)))


def test_a_data_set_without_its_folder_is_named_before_it_is_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UserError, match=r'data/emoji.* does not exist'):
        prepared_to_train(config_of('mocov3'), Options(data='emoji', fit=Fit(), work_dir=str(tmp_path)))


def test_annotation_files_of_metrics_move_with_the_data() -> None:
    cfg = Config(
        dict(
            val_dataloader=dict(dataset=dict(data_root='data/coco/')),
            val_evaluator=dict(ann_file='data/coco/annotations/a.json'),
            test_evaluator=[dict(type='x'), dict(ann_file='elsewhere/b.json')],
        )
    )
    set_data_root(cfg, '/data')
    assert cfg.val_evaluator.ann_file == '/data/annotations/a.json'
    assert cfg.test_evaluator[1].ann_file == 'elsewhere/b.json'


def test_files_that_are_missing(tmp_path: Path) -> None:
    init = dict(type='Pretrained', checkpoint=str(tmp_path / 'a.pth'))
    metric, other = (dict(type='CocoMetric', ann_file=str(tmp_path / name)) for name in ('a.json', 'b.json'))
    metrics = dict(val_evaluator=[dict(type='X'), metric], test_evaluator=other)
    cfg = Config(dict(**metrics, model=dict(type='X', backbone=dict(type='Y', init_cfg=init))))
    with pytest.raises(UserError, match=r'a\.pth \(model.backbone.init_cfg.checkpoint\)'):
        check_files(cfg)
    with pytest.raises(UserError, match=r'annotation file \S+/a\.json \(val_evaluator\[1\]\.ann_file\); put it there'):
        check_metric_files(cfg, 'val_evaluator')
    for name in ('a.pth', 'a.json'):
        (tmp_path / name).touch()
    for fine in (cfg, Config(dict(load_from='https://example.org/b.pth'))):
        check_files(fine)
        check_metric_files(fine, 'val_evaluator')
    with pytest.raises(UserError, match=r'b\.pth \(load_from\)'):
        check_files(Config(dict(load_from=str(tmp_path / 'b.pth'))))


def test_files_of_cifar_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = [[name, 'checksum'] for name in ('data_batch_1', 'test_batch')]
    monkeypatch.setattr(CIFAR10, 'train_list', files[:1])
    monkeypatch.setattr(CIFAR10, 'test_list', files[1:])
    cfg = Config(dict(train_dataloader=dict(dataset=dict(type='mmpretrain.CIFAR10', data_root=str(tmp_path)))))
    folder = tmp_path / CIFAR10.base_folder
    folder.mkdir()
    (folder / 'data_batch_1').touch()
    with pytest.raises(UserError, match=r'there is no file .*test_batch'):
        check_data_roots(cfg)
    (folder / 'test_batch').touch()
    check_data_roots(cfg)


def test_annotations_of_a_metric_are_those_of_the_images(tmp_path: Path) -> None:
    for name, content in (('a', '{}'), ('copy', '{}'), ('b', '[]')):
        (tmp_path / f'{name}.json').write_text(content)
    images = dict(type='mmdet.CocoDataset', data_root=f'{tmp_path}/', ann_file='a.json')
    for name in ('a', 'copy', 'b', None):
        metric = dict(type='CocoMetric', ann_file=name and f'{tmp_path}/{name}.json')
        cfg = Config(dict(val_dataloader=dict(dataset=images), val_evaluator=metric))
        if name != 'b':
            check_metric_files(cfg, 'val_evaluator')
            continue
        with pytest.raises(
            UserError, match=r'val_evaluator\.ann_file=.*b\.json.* is not .* of val_dataloader, .*/a\.json'
        ):
            check_metric_files(cfg, 'val_evaluator')
