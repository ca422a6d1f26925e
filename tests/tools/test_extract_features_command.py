"""tools/extract_features.py as a user runs it: a folder, a data set, a backbone alone, and what is refused."""

import json
import re
from pathlib import Path

import numpy as np
import pytest
import torch
from evaluation.checkpoints import of_pretraining
from mmengine.config import Config
from PIL import Image
from tools.in_process import refusal, run_as_given
from weights.marks import marker

import mixcl
from mixcl.evaluation.feature_files import read_features
from mixcl.recipes.prepared import prepared
from mixcl.registry import MODELS

DIGITS = 'configs/patchmix/vit-xs4_digits.py'


@pytest.fixture(scope='module')
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return of_pretraining(tmp_path_factory.mktemp('weights') / 'epoch_1.pth')


def backbone_weights(checkpoint: Path) -> dict[str, torch.Tensor]:
    """Return the weights of the encoder that is evaluated."""
    state, target = torch.load(checkpoint, weights_only=True)['state_dict'], 'target.backbone.'
    return {k.removeprefix(target): v for k, v in state.items() if k.startswith(target)}


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """Write images of several sizes and formats in nested folders, and a file that is none."""
    for number, name in enumerate(('a.png', '0/b.jpg', '0/1/c.webp')):
        path = tmp_path / 'images' / name
        path.parent.mkdir(exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 256, (18 + number, 20 + number, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path)
    (tmp_path / 'images/0/broken.jpg').write_bytes(b'no image')
    return tmp_path / 'images'


def extract(checkpoint: Path, out: Path, *arguments: object) -> dict[str, np.ndarray]:
    assert run_as_given('tools/extract_features.py', checkpoint, '--num-workers', 0, '--out', out, *arguments) == 0
    return read_features(out)


def refused(capfd: pytest.CaptureFixture, checkpoint: Path, out: Path, *arguments: object) -> str:
    words = ('tools/extract_features.py', checkpoint, '--num-workers', 0, '--out', out, *arguments)
    return refusal(capfd, *words, options=None)


def by_hand(checkpoint: Path, pixels: np.ndarray) -> torch.Tensor:
    """Return the class token of pixels (16, 16, 3)."""
    backbone = MODELS.build(prepared(DIGITS).model.backbone)
    backbone.load_state_dict(backbone_weights(checkpoint))
    backbone.eval()
    with torch.no_grad():
        return backbone((torch.tensor(pixels.copy()).permute(2, 0, 1)[None] - 127.5) / 127.5)[0][0]


def test_a_folder(checkpoint: Path, images: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    arguments = (checkpoint, tmp_path / 'out', '--images', images, '--image-size', 16, '--images-per-file', 3)
    found = extract(*arguments)
    output = capfd.readouterr().out
    assert 'unreadable image, its features are NaN: 0/broken.jpg (not an image)' in output
    assert re.search(r'features of 4 images, 1 of them unreadable$', output, re.MULTILINE)
    assert found['names'].tolist() == ['0/1/c.webp', '0/b.jpg', '0/broken.jpg', 'a.png']
    assert np.isnan(found['features']).any(axis=1).tolist() == [False, False, True, False]
    centre = np.asarray(Image.open(images / 'a.png'))[1:17, 2:18]  # 18 x 20 pixels need no resizing
    np.testing.assert_allclose(found['features'][3], by_hand(checkpoint, centre), atol=1e-5)
    assert json.loads((tmp_path / 'out/meta.json').read_text())['encoder'] == 'target'  # as evaluated
    (images / 'added.png').write_bytes((images / 'a.png').read_bytes())
    assert re.search('holds features of images with other names; give another --out', refused(capfd, *arguments))


def test_another_feature_of_labelled_data(checkpoint: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    arguments = (checkpoint, tmp_path / 'out', '--data-config', DIGITS, '--encoder', 'online')
    found = extract(*arguments, '--feature', 'ClassTokenAndAverage')
    assert found['features'].shape == (360, 192) and set(found['labels']) == set(range(10))
    assert 'holds features of another model' in refused(capfd, *arguments)


def test_tokens_in_half_precision(checkpoint: Path, images: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    arguments = (checkpoint, tmp_path / 'out', '--images', images, '--image-size', 16, '--tokens')
    found = extract(*arguments, '--half')['features']
    assert 'a cell has 4 x 4 pixels' in capfd.readouterr().out
    assert found.shape == (4, 4, 4, 96) and found.dtype == np.float16 and np.isnan(found[2]).all()
    with pytest.warns(UserWarning, match='no features of 0/broken.jpg|broken.jpg'):
        whole = mixcl.embed(checkpoint, images, image_size=16, tokens=True)
    np.testing.assert_allclose(found, whole.astype(np.float16), atol=2e-3)
    backbone = mixcl.load_backbone(checkpoint, image_size=16)
    tokens = backbone.tokens(backbone.preprocess(images / 'a.png')[None])
    np.testing.assert_allclose(whole[3], tokens.detach()[0], atol=1e-5)
    assert 'features of another precision' in refused(capfd, *arguments)


def test_a_backbone_without_config(
    checkpoint: Path, images: Path, tmp_path: Path, capfd: pytest.CaptureFixture
) -> None:
    torch.save(backbone_weights(checkpoint), tmp_path / 'bare.pth')
    arguments = ('--images', images, '--image-size', 16)
    message = refused(capfd, tmp_path / 'bare.pth', tmp_path / 'out', *arguments)
    assert 'holds weights without the config they were trained with' in message
    bare = extract(tmp_path / 'bare.pth', tmp_path / 'out', *arguments, '--config', DIGITS)
    whole = extract(checkpoint, tmp_path / 'whole', *arguments)
    np.testing.assert_array_equal(bare['features'], whole['features'])
    halved = extract(checkpoint, tmp_path / 'halved', *arguments, '--amp')['features']
    assert halved.dtype == np.float32 and not np.array_equal(halved, whole['features'], equal_nan=True)
    np.testing.assert_allclose(halved, whole['features'], atol=0.1)
    assert 'features of another precision' in refused(capfd, checkpoint, tmp_path / 'halved', *arguments)


def test_a_checkpoint_runs_nothing(
    checkpoint: Path, images: Path, tmp_path: Path, capfd: pytest.CaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = marker(tmp_path, monkeypatch)
    content = torch.load(checkpoint, weights_only=True)
    cfg = prepared(DIGITS).to_dict()
    evil, out = dict(type='evil.run'), tmp_path / 'out'
    arguments = (tmp_path / 'foreign.pth', out, '--images', images)
    for change, place in (
        (dict(data_preprocessor=evil), r'model\.data_preprocessor\.type'),
        (dict(test_dataloader=dict(dataset=dict(pipeline=[evil]))), r'pipeline\[3\]\.type'),
        (dict(test_dataloader=dict(dataset=dict(pipeline=3))), 'cannot be built'),
    ):
        meta = dict(cfg=Config(cfg | change).pretty_text)
        torch.save(content | dict(meta=meta), tmp_path / 'foreign.pth')
        line = refused(capfd, *arguments)
        assert re.search(place, line), line
        assert not ran.exists() and not out.exists()
