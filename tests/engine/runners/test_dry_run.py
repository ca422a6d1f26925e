"""Mistakes that are refused before data are read."""

import copy

import pytest
import tiny
import torch
from configuration.all_configs import read
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.engine.runners.dry_run import try_views
from mixcl.errors import UserError
from mixcl.registry import MODELS


@pytest.mark.parametrize('build', [tiny.build, torch.nn.Flatten], ids=['pretraining', 'another model'])
def test_views_of_the_device_need_a_preprocessor_that_finishes_them(build: type) -> None:
    dataset = dict(type='KeyedDataset', views='device', dataset=dict(type='Digits', pipeline=[]))
    preprocessor = dict(type='mmpretrain.SelfSupDataPreprocessor')
    cfg = Config(dict(train_dataloader=dict(dataset=dataset), data_preprocessor=preprocessor))
    with pytest.raises(UserError, match=r"views='device' leaves .* but that is mmpretrain.SelfSupDataPreprocessor"):
        try_views(cfg, build())


@pytest.mark.parametrize('loop', [dict(by_epoch=True), dict(type='KeyedTrainLoop')])
def test_a_learner_needs_the_loop_that_tells_it_of_steps(loop: dict) -> None:
    cfg = Config(dict(train_dataloader=dict(), train_cfg=dict(loop, max_epochs=2)))
    with pytest.raises(
        UserError,
        match=r"never update the target encoder of a ContrastiveLearner, .* write train_cfg.type='PretrainLoop'",
    ):
        try_views(cfg, tiny.build())


def test_images_of_any_size_may_be_cut() -> None:
    """Some crops cut without resizing; without a crop, images keep their own size."""
    for crop in ([dict(type='mmpretrain.RandomCrop', crop_size=224)], []):
        cfg = copy.deepcopy(read('patchmix/vit-s16_folder'))
        views = [[*crop, dict(type='mmpretrain.RandomFlip', prob=0.5)]] * 2
        cfg.train_dataloader.dataset.dataset.pipeline = [
            dict(type='LoadImage'),
            dict(type='KeyedMultiView', num_views=[1, 1], transforms=views),
            dict(type='mmpretrain.PackInputs'),
        ]
        with DefaultScope.overwrite_default_scope('mixcl'):
            try_views(cfg, MODELS.build(copy.deepcopy({**cfg.model, 'data_preprocessor': cfg.data_preprocessor})), 1)
