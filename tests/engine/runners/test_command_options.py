"""What options of the commands change in a config."""

import pytest
from mmengine.config import Config

from mixcl.engine.runners.command_options import limit_time, seconds_of, use_views
from mixcl.errors import UserError


@pytest.mark.parametrize(
    ('text', 'seconds'), [('23h30m', 84600), ('90m', 5400), ('45s', 45), ('1d2h3m4s', 93784), (' 2h ', 7200)]
)
def test_durations(text: str, seconds: int) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize('text', ['', '0s', '30', '1.5h', '30m2h', '-5m', 'tomorrow'])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(UserError, match=r'--max-time takes a duration such as 23h30m, 90m or 45s, not'):
        seconds_of(text)


def test_only_loops_of_mixcl_end_in_time() -> None:
    cfg = Config(dict(train_cfg=dict(type='PretrainLoop')))
    limit_time(cfg, '90m')
    assert cfg.train_cfg.max_seconds == 5400
    cfg.train_cfg.type = 'EpochBasedTrainLoop'
    with pytest.raises(UserError, match='needs a train loop of mixcl'):
        limit_time(cfg, '90m')


def test_who_makes_the_views() -> None:
    cfg = Config.fromfile('configs/patchmix/vit-xs4_digits.py')
    assert (cfg.train_dataloader.dataset.views, cfg.data_preprocessor.type) == ('device', 'mixcl.ViewPreprocessor')
    use_views(cfg, 'pillow')
    assert cfg.train_dataloader.dataset.views == 'pillow'
    with pytest.raises(UserError, match='--views pillow is for images of 3 channels, not 4: leave it out'):
        use_views(Config.fromfile('configs/patchmix/vit-s16_folder_4channels.py'), 'pillow')
    with pytest.raises(UserError, match=r'--views pillow is for configs that have train_dataloader.dataset.views'):
        use_views(Config(dict(train_dataloader=dict(dataset=dict(type='KeyedDataset')))), 'pillow')
