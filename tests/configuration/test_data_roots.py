"""The data folders of a config are found wherever they stand."""

import pytest
from mmengine.config import Config

from mixcl.configuration import check_data_roots, set_data_root
from mixcl.errors import UserError


def _config(train: str | None = 'a', bank: str | None = 'b') -> Config:
    return Config(
        dict(
            images=dict(data_root='variable'),
            train_dataloader=dict(dataset=dict(type='ConcatDataset', datasets=[dict(data_root=train), dict(x=1)])),
            val_cfg=dict(type='FeatureLoop', bank_dataloader=dict(dataset=dict(data_root=bank))),
        )
    )


def test_the_root_of_every_data_set_is_set():
    cfg = _config(train=None)
    set_data_root(cfg, '/data')
    assert cfg.train_dataloader.dataset.datasets == [dict(data_root='/data'), dict(x=1)]
    assert cfg.val_cfg.bank_dataloader.dataset.data_root == '/data'
    assert cfg.images.data_root == 'variable'


def test_no_data_set_with_a_folder():
    with pytest.raises(UserError, match='--data-root /data: no data set'):
        set_data_root(Config(dict(images=dict(data_root='x'), train_dataloader=dict(dataset=dict(split='a')))), '/data')


def test_folders_that_hold_something_pass(tmp_path):
    (tmp_path / 'image.png').touch()
    check_data_roots(_config(str(tmp_path), str(tmp_path)))


@pytest.mark.parametrize('root', [None, '', 's3://bucket/images'])
def test_what_is_no_local_folder_is_left_alone(root):
    check_data_roots(_config(root, root))


def test_a_missing_folder_is_named(tmp_path):
    (tmp_path / 'image.png').touch()
    missing = tmp_path / 'missing'
    expected = rf"'{missing}' \(val_cfg\.bank_dataloader\.dataset\.data_root\) does not exist.*--data-root DIR"
    with pytest.raises(UserError, match=expected):
        check_data_roots(_config(str(tmp_path), str(missing)))


def test_an_empty_folder_and_a_file_are_named(tmp_path):
    with pytest.raises(UserError, match=r'train_dataloader\.dataset\.datasets\[0\]\.data_root\) is empty'):
        check_data_roots(_config(str(tmp_path)))
    file = tmp_path / 'images.zip'
    file.touch()
    with pytest.raises(UserError, match=r'images\.zip.* does not exist'):
        check_data_roots(_config(str(file)))


def test_annotation_files_of_metrics_move_with_the_data():
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
