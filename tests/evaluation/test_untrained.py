"""The model of a config as it is initialised."""

import pytest
import torch
from mmengine.logging import MMLogger

from mixcl.evaluation.untrained import untrained
from mixcl.recipes.prepared import prepared

CONFIG = 'configs/mocov3/vit-xs4_digits.py'


def test_an_untrained_model_is_a_function_of_the_seed() -> None:
    first, again, other = (untrained(prepared(CONFIG), seed).state_dict() for seed in (3, 3, 4))
    assert all(torch.equal(value, again[name]) for name, value in first.items())
    assert not torch.equal(first['neck.fc0.weight'], other['neck.fc0.weight'])


def test_an_untrained_model_lists_no_parameters(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> None:
    cfg = prepared(CONFIG)
    monkeypatch.setattr(MMLogger, '_instance_dict', {})  # as in a command that has read no config
    untrained(cfg, seed=0)
    assert capfd.readouterr() == ('', '')
