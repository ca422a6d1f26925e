"""What is refused before data are read."""

import pytest
import tiny
import torch
from mmengine.config import Config

from mixcl.engine.runners.dry_run import try_views
from mixcl.errors import UserError


@pytest.mark.parametrize('build', [tiny.build, torch.nn.Flatten], ids=['pretraining', 'another model'])
def test_views_of_the_device_need_a_preprocessor_that_finishes_them(build: type) -> None:
    dataset = dict(type='KeyedDataset', views='device', dataset=dict(type='Digits', pipeline=[]))
    preprocessor = dict(type='mmpretrain.SelfSupDataPreprocessor')
    cfg = Config(dict(train_dataloader=dict(dataset=dataset), data_preprocessor=preprocessor))
    with pytest.raises(UserError, match=r"views='device' leaves .* but that is mmpretrain.SelfSupDataPreprocessor"):
        try_views(cfg, build())
