"""Backbones exported for mmdet, in mmdet's own registry and detectors."""

from pathlib import Path
from textwrap import dedent

import pytest
import torch
from apis.test_export import BACKBONES, drawn, save
from mmdet.registry import MODELS
from mmengine.config import Config

from mixcl.apis.export import export


@pytest.mark.parametrize('name', ['r18', 'grey', 'square'])
def test_exported_backbones_give_the_same_features(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
) -> None:
    """As the export sees for itself; of a transformer without its class token."""
    monkeypatch.setitem(BACKBONES, 'square', dict(BACKBONES['aps'], type='ContrastiveViT', qkv_bias=True))
    export(save(tmp_path / 'some.pth', name, backbone=drawn(BACKBONES[name]).state_dict()), 'mmdet', tmp_path / 'out')
    assert '# checked with mmdet' in capsys.readouterr().out


def test_the_config_of_a_detector_takes_it(tmp_path: Path) -> None:
    """As docs/weights.md has it."""
    state = drawn(BACKBONES['r50']).state_dict()
    export(save(tmp_path / 'some.pth', 'r50', backbone=state), 'mmdet', tmp_path / 'r50_mmdet')
    page = Path('docs/weights.md').read_text()
    (tmp_path / 'detector.py').write_text(dedent(page.partition('```python\n')[2].partition('```')[0]))
    cfg = Config.fromfile(tmp_path / 'detector.py')
    model = MODELS.build(cfg.model)
    model.init_weights()
    torch.testing.assert_close(model.backbone.state_dict(), dict(state), rtol=0, atol=0)
    assert model.data_preprocessor.mean.flatten().tolist() == [51, 102, 153]
