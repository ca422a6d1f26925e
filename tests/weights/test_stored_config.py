"""Configs that checkpoints carry are data."""

import math
from pathlib import Path

import pytest
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.weights import stored_config

CONFIGS = Path(__file__).parents[2] / 'configs'


def parsed(text: str) -> Config:
    return stored_config(dict(state_dict={}, meta=dict(cfg=text)), 'some.pth')


@pytest.mark.parametrize('name', ['patchmix/vit-s16_in1k', 'mixco/r18_tinyimagenet_mocov2'])
def test_what_mmengine_writes_is_read_back(name: str) -> None:
    cfg = Config.fromfile(CONFIGS / f'{name}.py')
    assert parsed(cfg.pretty_text).to_dict() == cfg.to_dict()


def test_values_of_all_kinds() -> None:
    values = dict(
        numbers=[1, -2.5, 1e-6], nothing=None, truth=True, words="it's", pair=(1, (2,)), empty=dict(), none=[],
        keys={'a.b': 1, 'c': dict(d={2: 'two'})}, infinite=math.inf, least=-math.inf,
    )  # fmt: skip
    assert parsed(Config(values).pretty_text).to_dict() == Config(values).to_dict()
    assert math.isnan(parsed('x = nan').x)
    named = parsed('a = dict(type=list)\nb = torch.nn.GELU').to_dict()
    assert named == dict(a=dict(type='list'), b='torch.nn.GELU')


def test_programs_are_refused_and_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for text in (
        'import os', "x = __import__('os').mkdir('ran')", "x = [open('ran', 'w')]", "x = dict(a=print('ran'))",
        "x = dict(open('ran', 'w'))", "x = {open('ran', 'w'): 1}", 'x = {**dict(a=1)}', "x = f'{print()}'",
        'x = [i for i in (1, 2)]', 'x = y[0]', 'x = dict(**y)', 'x = (', 'x.y = 1', 'filename = 1', 'text = 1',
        'x = ' + '-' * 100_000 + '1', 'x = ' + '+'.join(['1'] * 100_000), 'x = y' + '.z' * 50_000,
        'x = ' + '[' * 1000 + ']' * 1000,
    ):  # fmt: skip
        with pytest.raises(UserError, match=r'the config stored in some\.pth is not one that mmengine wrote'):
            parsed(text)
    assert not list(tmp_path.iterdir())
