"""Pictures drawn during training change nothing and go wherever the visualizer writes."""

import copy
from pathlib import Path

import numpy as np
import pytest
import torch
from engine.probe_runs import validated
from engine.tiny_runs import run_config, scalars, trained
from mmengine.config import Config
from PIL import Image
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from mixcl.errors import UserError
from mixcl.visualization.images_hook import ImagesHook

BACKENDS = [dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')]


def config(folder: Path, **overrides: object) -> Config:
    return validated(run_config(folder, model__backbone__drop_path_rate=0.5, **overrides))


def test_a_run_with_pictures_is_the_same_to_the_bit(tmp_path: Path) -> None:
    plain = trained(config(tmp_path / 'plain'))
    line = dict(default_hooks__images=dict(type='ImagesHook', interval=1), visualizer__vis_backends=BACKENDS)
    shown = trained(config(tmp_path / 'shown', **line))
    torch.testing.assert_close(shown.model.state_dict(), plain.model.state_dict(), rtol=0, atol=0)
    assert scalars(shown, 'loss') == scalars(plain, 'loss')
    (folder,) = tmp_path.glob('shown/*/vis_data')
    names = {f'{name}_{epoch}.png' for name in ('views', 'mixtures', 'neighbours') for epoch in (0, 1, 2)}
    assert {path.name for path in folder.glob('vis_image/*')} == names
    pictures = {path.name: np.asarray(Image.open(path)) for path in folder.glob('vis_image/*')}
    assert all(picture.std() > 10 for picture in pictures.values())
    for name in ('views', 'mixtures', 'neighbours'):
        first, second = pictures[f'{name}_0.png'], pictures[f'{name}_2.png']
        assert first.shape != second.shape or (first != second).any()
    events = EventAccumulator(str(folder), size_guidance=dict(images=0)).Reload()
    assert set(events.Tags()['images']) == {'views', 'mixtures', 'neighbours'}
    assert [event.step for event in events.Images('neighbours')] == [0, 1, 2]


def test_few_images_are_all_shown_and_what_cannot_be_shown_is_said(tmp_path: Path) -> None:
    line = dict(default_hooks__images=dict(type='ImagesHook', num_images=60), train_dataloader__batch_size=2)
    line |= dict(train_cfg__max_epochs=1, model__mixer__num_mix=2)
    cfg = validated(run_config(tmp_path, **line))
    cfg.train_dataloader.dataset.dataset.indices = 4
    for loader in (cfg.val_dataloader, cfg.val_cfg.bank_dataloader):
        loader.dataset.indices = 5
    trained(cfg)
    names = {path.name for path in tmp_path.glob('*/vis_data/vis_image/*_1.png')}
    assert names == {'views_1.png', 'mixtures_1.png', 'neighbours_1.png'}
    one = validated(run_config(tmp_path / 'one', **line))
    one.train_dataloader.dataset.dataset.indices = 8
    one.val_dataloader = copy.deepcopy(one.val_dataloader)
    one.val_dataloader.dataset.indices = 1
    trained(one)
    (log,) = tmp_path.glob('one/*/*.log')
    assert log.read_text().count('ImagesHook shows no neighbours: this figure needs 2 images or more') == 1
    assert len(list(tmp_path.glob('one/*/vis_data/vis_image/views_*.png'))) == 2


def test_values_out_of_range() -> None:
    for settings in (dict(interval=0), dict(num_images=0)):
        with pytest.raises(UserError, match=r'ImagesHook: .* must be a whole number of at least 1, not 0'):
            ImagesHook(**settings)
