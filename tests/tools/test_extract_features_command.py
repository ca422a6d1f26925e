"""tools/extract_features.py as a user runs it: a folder, a data set, an interruption, and what is refused."""

import json
import re
import runpy
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from tools.command import error_lines, run, start, stop

from mixcl.engine.runners.launch import read_config
from mixcl.registry import MODELS

TOOL = 'tools/extract_features.py'
DIGITS = 'configs/patchmix/vit-xs4_digits.py'
FILES = ('features.npy', 'names.txt', 'labels.npy', 'unreadable.txt', 'meta.json')


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


@pytest.fixture(scope='module')
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """45 images of several sizes and formats in nested folders, two of them unreadable."""
    folder = tmp_path_factory.mktemp('images')
    random = np.random.default_rng(0)
    for number in range(43):
        size = (16 + number % 7, 20 + number % 5, 3)
        path = folder / f'{number % 3}/{number % 2}/{number:02d}.{("png", "jpg", "webp")[number % 3]}'
        path.parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(random.integers(0, 256, size, dtype=np.uint8)).save(path)
    (folder / '0/broken.jpg').write_bytes(b'no image')
    (folder / 'empty.png').touch()
    return folder


def extract(checkpoint: Path, *arguments: object) -> str:
    result = run(TOOL, checkpoint, *arguments)
    assert result.returncode == 0, result.stdout[-3000:] + result.stderr[-3000:]
    return result.stdout


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


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def by_hand(checkpoint: Path, path: Path) -> torch.Tensor:
    """The class token of one image, prepared with Pillow alone."""
    cfg = read_config(DIGITS)
    backbone = MODELS.build(cfg.model.backbone)
    state = torch.load(checkpoint, weights_only=True)['state_dict']
    backbone.load_state_dict({k.removeprefix('backbone.'): v for k, v in state.items() if k.startswith('backbone.')})
    backbone.eval()
    image = Image.open(path).convert('RGB')
    short = min(image.size)
    size = tuple(int(18 * side / short) for side in image.size)  # 16 * 256 / 224
    array = np.asarray(image.resize(size, Image.Resampling.BICUBIC))
    top, left = (round((side - 16) / 2) for side in array.shape[:2])
    crop = torch.tensor(array[top : top + 16, left : left + 16].copy()).permute(2, 0, 1)[None].float()
    with torch.no_grad():
        return backbone((crop - 127.5) / 127.5)[0][0]


@pytest.fixture(scope='module')
def whole(checkpoint: Path, images: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp('whole') / 'features'
    options = ('--image-size', 16, '--batch-size', 4, '--save-every', 2, '--workers', 0)
    return out, extract(checkpoint, '--images', images, '--out', out, *options)


def test_a_folder(checkpoint: Path, images: Path, whole: tuple[Path, str]) -> None:
    out, output = whole
    assert set(contents(out)) == set(FILES) - {'labels.npy'}
    features, names = np.load(out / 'features.npy', mmap_mode='r'), (out / 'names.txt').read_text().splitlines()
    assert features.dtype == np.float32 and features.shape == (45, 96)
    assert names == sorted(str(path.relative_to(images)) for path in images.rglob('*') if path.is_file())
    unreadable = [names.index('0/broken.jpg'), names.index('empty.png')]
    assert np.isnan(features).all(axis=1).nonzero()[0].tolist() == unreadable
    assert not np.isnan(np.delete(features, unreadable, axis=0)).any()
    assert (out / 'unreadable.txt').read_text() == '0/broken.jpg (not an image)\nempty.png (the file is empty)\n'
    assert 'unreadable image, its features are NaN: 0/broken.jpg (not an image)' in output
    png = next(name for name in names if name.endswith('.png') and name != 'empty.png')
    np.testing.assert_allclose(features[names.index(png)], by_hand(checkpoint, images / png), atol=1e-5)
    meta = json.loads((out / 'meta.json').read_text())
    assert meta['done'] == meta['images'] == 45 and meta['identity']['encoder'] == 'online'


def test_batches_and_workers_change_nothing(
    tool: Tool, checkpoint: Path, images: Path, whole: tuple[Path, str], tmp_path: Path
) -> None:
    options = ('--image-size', 16, '--batch-size', 13, '--save-every', 1, '--workers', 2)
    tool.extract(checkpoint, '--images', images, '--out', tmp_path / 'again', *options)
    assert contents(tmp_path / 'again') == contents(whole[0])


def test_a_killed_run_goes_on_to_the_same_bytes(
    tool: Tool, checkpoint: Path, images: Path, whole: tuple[Path, str], tmp_path: Path
) -> None:
    out = tmp_path / 'features'
    arguments = (checkpoint, '--images', images, '--out', out, '--image-size', 16, '--batch-size', 1, '--workers', 0)
    arguments = (*arguments, '--save-every', 1)
    process = start(TOOL, *arguments)
    try:
        deadline = time.monotonic() + 60
        while not _done(out) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.001)
    finally:
        stop(process)
    done = _done(out)
    assert 0 < done < 45, 'the run was killed before its end'
    assert not (out / 'features.npy').exists()
    lines = tool.extract(*arguments).splitlines()
    assert f'{done} of 45 images done' not in lines and f'{done + 1} of 45 images done' in lines
    assert contents(out) == contents(whole[0])
    assert 'features of 45 images, 2 of them unreadable' in tool.extract(*arguments)


def _done(out: Path) -> int:
    return json.loads((out / 'meta.json').read_text())['done'] if (out / 'meta.json').exists() else 0


def test_a_data_set_with_labels_as_one_file(tool: Tool, checkpoint: Path, tmp_path: Path) -> None:
    out = tmp_path / 'test.npz'
    arguments = ('--config', DIGITS, '--split', 'test', '--encoder', 'target', '--workers', 0, '--out', out)
    tool.extract(checkpoint, *arguments)
    assert [path.name for path in tmp_path.iterdir()] == ['test.npz']
    with np.load(out) as arrays:
        assert arrays['features'].shape == (360, 96) and arrays['labels'].shape == (360,)
        assert set(arrays['labels']) == set(range(10))
        assert json.loads(str(arrays['meta']))['identity']['encoder'] == 'target'
    assert 'is complete already' in tool.extract(checkpoint, *arguments)
    refused = tool.refused(checkpoint, *arguments, '--feature', 'LastClassTokens', '--feature-options', 'blocks=2')
    assert 'holds features of another feature' in refused


def test_another_feature(tool: Tool, checkpoint: Path, tmp_path: Path) -> None:
    options = ('--feature', 'LastClassTokens', '--feature-options', 'blocks=2', '--workers', 0)
    tool.extract(checkpoint, '--config', DIGITS, '--out', tmp_path / 'out', *options)
    assert np.load(tmp_path / 'out/features.npy').shape == (360, 192)


def test_a_folder_that_changed_is_not_continued(
    tool: Tool, checkpoint: Path, images: Path, whole: tuple[Path, str]
) -> None:
    added = images / 'added.png'
    Image.fromarray(np.zeros((20, 20, 3), dtype=np.uint8)).save(added)
    try:
        refused = tool.refused(checkpoint, '--images', images, '--out', whole[0], '--image-size', 16)
    finally:
        added.unlink()
    assert re.search('holds features of another content .* give another --out', refused)


@pytest.fixture(scope='module')
def bare(checkpoint: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    state = torch.load(checkpoint, weights_only=True)['state_dict']
    path = tmp_path_factory.mktemp('bare') / 'backbone.pth'
    torch.save({k.removeprefix('backbone.'): v for k, v in state.items() if k.startswith('backbone.')}, path)
    return path


def test_a_backbone_without_its_config(
    tool: Tool, bare: Path, images: Path, whole: tuple[Path, str], tmp_path: Path
) -> None:
    arguments = ('--images', images, '--image-size', 16, '--workers', 0)
    refused = tool.refused(bare, *arguments, '--out', tmp_path / 'out')
    assert 'says nothing about a backbone; name the config it belongs to by' in refused
    tool.extract(bare, *arguments, '--out', tmp_path / 'out', '--backbone-config', DIGITS)
    assert (tmp_path / 'out/features.npy').read_bytes() == (whole[0] / 'features.npy').read_bytes()


@pytest.mark.parametrize(
    ('arguments', 'message'),
    [
        (['--images', '/nowhere'], 'the image folder /nowhere does not exist'),
        (['--images', 'IMAGES'], r'not of one size after preprocessing .* give --image-size PIXELS'),
        (['--images', 'IMAGES', '--image-size', '16', '--batch-size', '0'], '--batch-size must be at least 1, not 0'),
        (['--images', 'BROKEN'], 'none of the 1 images can be read; the last: not an image'),
        (['--images', 'IMAGES', '--image-size', '16', '--feature', 'PooledGrid'], 'PooledGrid pools a map'),
        (['--config', DIGITS, '--image-size', '16'], '--image-size is for --images'),
        (['--config', DIGITS, '--device', 'abacus'], '--device abacus cannot be used on this machine'),
        (['--config', DIGITS, '--feature-options', 'blocks=3'], 'blocks=3: Output takes none'),
        (
            ['--config', DIGITS, '--feature', 'LastClassTokens', '--feature-options', 'blocks=x'],
            r'blocks=x: LastClassTokens takes blocks \(int\)',
        ),
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
    assert re.search(message, tool.refused(checkpoint, *arguments, '--workers', 1, '--out', tmp_path / 'out'))


def test_another_backbone_config(tool: Tool, checkpoint: Path, images: Path, tmp_path: Path) -> None:
    weights = torch.load(checkpoint, weights_only=True)['state_dict']
    bare = {k.removeprefix('backbone.'): v for k, v in weights.items() if k.startswith('backbone.')}
    torch.save(bare, tmp_path / 'bare.pth')
    other = tmp_path / 'other_heads.py'
    other.write_text(f"_base_ = '{Path(DIGITS).resolve()}'\nmodel = dict(backbone=dict(arch=dict(num_heads=1)))\n")
    common = (tmp_path / 'bare.pth', '--images', images, '--image-size', 16, '--workers', 0, '--out', tmp_path / 'out')
    tool.extract(*common, '--backbone-config', DIGITS)
    assert 'holds features of another backbone' in tool.refused(*common, '--backbone-config', other)
