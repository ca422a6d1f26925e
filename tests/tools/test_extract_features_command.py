"""tools/extract_features.py as a user runs it: a folder, a data set, an interruption, and what is refused."""

import json
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tools.command import error_lines

from mixcl.engine.runners.launch import read_config
from mixcl.evaluation.feature_files import read_features
from mixcl.registry import MODELS

TOOL = 'tools/extract_features.py'
DIGITS = 'configs/patchmix/vit-xs4_digits.py'
SIZE = ('--image-size', 16, '--workers', 0)


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As a run of the digits config saves it, without the training."""
    torch.manual_seed(0)
    cfg = read_config(DIGITS)
    model = MODELS.build({**cfg.model, 'data_preprocessor': cfg.data_preprocessor})
    model.init_weights()
    path = tmp_path_factory.mktemp('weights') / 'epoch_1.pth'
    torch.save(dict(state_dict=model.state_dict(), meta=dict(cfg=cfg.pretty_text, epoch=1)), path)
    return path


def backbone_weights(checkpoint: Path) -> dict[str, torch.Tensor]:
    state = torch.load(checkpoint, weights_only=True)['state_dict']
    return {k.removeprefix('backbone.'): v for k, v in state.items() if k.startswith('backbone.')}


@pytest.fixture(scope='module')
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """12 images of several sizes and formats in nested folders, and one that is none."""
    folder = tmp_path_factory.mktemp('images')
    random = np.random.default_rng(0)
    for number in range(12):
        size = (16 + number % 7, 20 + number % 5, 3)
        path = folder / f'{number % 3}/{number % 2}/{number:02d}.{("png", "jpg", "webp")[number % 3]}'
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, size, dtype=np.uint8)).save(path)
    (folder / '0/broken.jpg').write_bytes(b'no image')
    return folder


class Tool:
    """The tool in this process, which saves the imports."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> None:
        self.monkeypatch = monkeypatch
        self.capfd = capfd
        monkeypatch.setattr(torch.cuda, 'is_available', lambda: False)

    def extract(self, *arguments: object) -> str:
        self.monkeypatch.setattr(sys, 'argv', [TOOL, *map(str, arguments)])
        runpy.run_path(TOOL, run_name='__main__')
        return self.capfd.readouterr().out

    def refused(self, *arguments: object) -> str:
        """The one sentence."""
        with pytest.raises(SystemExit) as exit_:
            self.extract(*arguments)
        captured = self.capfd.readouterr()
        assert exit_.value.code == 2 and 'Traceback' not in captured.out + captured.err
        (line,) = error_lines(captured.err)
        return line


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture) -> Tool:
    return Tool(monkeypatch, capfd)


def by_hand(checkpoint: Path, path: Path) -> torch.Tensor:
    """The class token of one image, prepared with Pillow alone."""
    backbone = MODELS.build(read_config(DIGITS).model.backbone)
    backbone.load_state_dict(backbone_weights(checkpoint))
    backbone.eval()
    image = Image.open(path).convert('RGB')
    short = min(image.size)
    size = tuple(int(18 * side / short) for side in image.size)  # 16 * 256 / 224
    array = np.asarray(image.resize(size, Image.Resampling.BICUBIC))
    top, left = (round((side - 16) / 2) for side in array.shape[:2])
    crop = torch.tensor(array[top : top + 16, left : left + 16].copy()).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        return backbone((crop - 127.5) / 127.5)[0][0]


def test_a_folder_interrupted_and_changed(tool: Tool, checkpoint: Path, images: Path, tmp_path: Path) -> None:
    arguments = (checkpoint, '--images', images, '--out', tmp_path / 'out', *SIZE, '--images-per-file', 5)
    output = tool.extract(*arguments, '--batch-size', 4)
    assert 'unreadable image, its features are NaN: 0/broken.jpg (not an image)' in output
    assert 'features of 13 images, 1 of them unreadable' in output
    found = read_features(tmp_path / 'out')
    names, features = found['names'].tolist(), found['features']
    assert names == sorted(str(path.relative_to(images)) for path in images.rglob('*') if path.is_file())
    assert features.shape == (13, 96)
    assert np.isnan(features).any(axis=1).nonzero()[0].tolist() == [names.index('0/broken.jpg')]
    png = next(name for name in names if name.endswith('.png'))
    np.testing.assert_allclose(features[names.index(png)], by_hand(checkpoint, images / png), atol=1e-5)
    assert json.loads((tmp_path / 'out/meta.json').read_text())['encoder'] == 'online'

    (tmp_path / 'out/features_00001.npz').unlink()
    tool.extract(*arguments, '--batch-size', 3)
    np.testing.assert_allclose(read_features(tmp_path / 'out')['features'], features, atol=1e-5)

    added = images / 'added.png'
    Image.fromarray(np.zeros((20, 20, 3), dtype=np.uint8)).save(added)
    try:
        assert re.search('holds features of another content .* give another --out', tool.refused(*arguments))
    finally:
        added.unlink()


def test_another_feature_of_a_data_set_with_labels(tool: Tool, checkpoint: Path, tmp_path: Path) -> None:
    arguments = (checkpoint, '--config', DIGITS, '--encoder', 'target', '--workers', 0, '--out', tmp_path / 'out')
    tool.extract(*arguments, '--feature', 'ClassTokenAndAverage')
    found = read_features(tmp_path / 'out')
    assert found['features'].shape == (360, 192) and set(found['labels']) == set(range(10))
    assert 'holds features of another model' in tool.refused(*arguments)


def test_a_backbone_without_its_config(tool: Tool, checkpoint: Path, images: Path, tmp_path: Path) -> None:
    torch.save(backbone_weights(checkpoint), tmp_path / 'bare.pth')
    arguments = (tmp_path / 'bare.pth', '--images', images, '--out', tmp_path / 'out', *SIZE)
    assert 'says nothing about a backbone and its data_preprocessor; name' in tool.refused(*arguments)
    tool.extract(*arguments, '--backbone-config', DIGITS)
    tool.extract(checkpoint, '--images', images, '--out', tmp_path / 'whole', *SIZE)
    bare, whole = (read_features(tmp_path / name)['features'] for name in ('out', 'whole'))
    np.testing.assert_array_equal(bare, whole)
    other = tmp_path / 'other_heads.py'
    other.write_text(f"_base_ = '{Path(DIGITS).resolve()}'\nmodel = dict(backbone=dict(arch=dict(num_heads=1)))\n")
    assert 'holds features of another model' in tool.refused(*arguments, '--backbone-config', other)


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--images', '/nowhere'], 'the image folder /nowhere does not exist'),
        (['--images', 'IMAGES'], r'not of one size after preprocessing; give --image-size PIXELS'),
        (['--images', 'BROKEN'], r'none of 1 images tried in .*broken could be read; the first: .* \(not an image\)'),
        (['--images', 'IMAGES', '--image-size', '16', '--feature', 'PooledGrid'], 'PooledGrid pools a map'),
        (['--images', 'IMAGES', '--image-size', '18'], '18x18 pixels cannot be cut into the patches of 4x4 of '),
        (['--config', 'configs/patchmix/vit-s16_folder.py'], 'the config has no test_dataloader'),
    ],
)
def test_one_sentence(
    tool: Tool, checkpoint: Path, images: Path, tmp_path: Path, arguments: list[str], message: str
) -> None:
    (tmp_path / 'broken').mkdir()
    (tmp_path / 'broken/broken.jpg').write_bytes(b'no image')
    places = dict(IMAGES=images, BROKEN=tmp_path / 'broken')
    arguments = [places.get(argument, argument) for argument in arguments]
    assert re.search(message, tool.refused(checkpoint, *arguments, '--workers', 0, '--out', tmp_path / 'out'))
