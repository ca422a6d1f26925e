"""Exports that are refused, found wrong, or not checked."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from apis.test_export import BACKBONES, drawn, save, saved_small

from mixcl.apis import export as export_module
from mixcl.apis.export import export
from mixcl.errors import UserError

REFUSED = [
    ('vit', 'torchvision', 'it is no ResNet'),
    ('cifar', 'timm', 'timm has no ResNet with the stem for small images'),
    ('narrow', 'timm', 'not those of a plain ResNet'),
    ('average', 'timm', 'not the class token'),
    ('other_norm', 'timm', 'eps=0.001'),
    ('mobilenet', 'huggingface', 'no vision transformer or ResNet'),
    ('vit', 'keras', "there is no format 'keras'"),
]


@pytest.mark.parametrize(('name', 'to', 'reason'), REFUSED)
def test_what_a_format_cannot_say(name: str, to: str, reason: str, tmp_path: Path) -> None:
    checkpoint = save(tmp_path / 'some.pth', name, backbone=drawn(BACKBONES[name]).state_dict())
    with pytest.raises(UserError, match=f'{re.escape(reason)}.*; choose'):
        export(checkpoint, to, tmp_path / 'out')
    assert [*tmp_path.iterdir()] == [checkpoint]


def test_what_was_asked_for_is_not_advised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = save(tmp_path / 'some.pth', 'mobilenet', backbone=drawn(BACKBONES['mobilenet']).state_dict())
    monkeypatch.setattr(export_module, 'TOLERANCE', -1.0)
    with pytest.raises(UserError, match=r'cannot be exported to torchvision: .*; choose `to=onnx` instead$'):
        export(checkpoint, 'torchvision', tmp_path / 'out')


def test_overwrites_nothing(tmp_path: Path) -> None:
    checkpoint = saved_small(tmp_path)
    (tmp_path / 'out').mkdir()
    (tmp_path / 'out/mine').touch()
    with pytest.raises(UserError, match='is there already'):
        export(checkpoint, 'timm', tmp_path / 'out')
    (tmp_path / 'out/mine').unlink()
    assert export(checkpoint, 'timm', tmp_path / 'out') == tmp_path / 'out'
    assert sorted(tmp_path.iterdir()) == [tmp_path / 'out', checkpoint]


def wrong(name: str, value: object) -> Callable:
    """Return timm's writer with one wrong argument of the architecture."""

    def write(exported: object, folder: Path) -> tuple:
        ways = write_timm(exported, folder)
        content = json.loads((folder / 'config.json').read_text())
        content['model_args'][name] = value
        (folder / 'config.json').write_text(json.dumps(content))
        return ways

    write_timm = export_module.WRITERS['timm']
    return write


@pytest.mark.parametrize(
    ('name', 'value', 'reason'),
    [
        ('num_heads', 6, 'its features there differ by'),  # shapes do not show it
        ('depth', 3, 'timm does not load it'),
    ],
)
def test_the_check_finds_it(
    name: str, value: object, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = save(tmp_path / 'some.pth', 'vit', backbone=drawn(BACKBONES['vit']).state_dict())
    monkeypatch.setitem(export_module.WRITERS, 'timm', wrong(name, value))
    with pytest.raises(UserError, match=reason):
        export(checkpoint, 'timm', tmp_path / 'out')
    assert [*tmp_path.iterdir()] == [checkpoint]


def test_says_what_it_could_not_check(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoint = saved_small(tmp_path)
    monkeypatch.setattr(export_module.importlib.util, 'find_spec', lambda name: None)
    card = (export(checkpoint, 'huggingface', tmp_path / 'out') / 'README.md').read_text()
    assert 'not checked: transformers not installed' in card
