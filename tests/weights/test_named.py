"""Weights by name: those of timm and of a hub, read by the real client, and pushed to it."""

import re
from pathlib import Path

import numpy as np
import pytest
import timm
import torch
from hub import python, served
from huggingface_hub import constants
from PIL import Image
from safetensors.torch import save
from timm.models import save_for_hf
from torch import nn

import mixcl
from mixcl.errors import UserError
from mixcl.weights import read_pretrained

WITH_A_HUB = """
import sys, timm, torch, mixcl
from PIL import Image
from mixcl.console import main
checkpoint, out, image = sys.argv[1:]
main(['export', checkpoint, '--to', 'timm', '--out', out, '--push', 'me/digits'])
image = Image.open(image)
for name, theirs in [('hf-hub:me/digits', 'hf-hub:me/digits'), ('timm:test_vit', 'test_vit')]:
    model = timm.create_model(theirs, pretrained=True, num_classes=0).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(model), is_training=False)
    encoder = mixcl.load_backbone(name)
    torch.testing.assert_close(encoder.preprocess(image), transform(image), rtol=0, atol=1e-5)
    with torch.no_grad():
        images = transform(image)[None]
        torch.testing.assert_close(encoder(images), model(images), rtol=0, atol=1e-5)
    print('read:', encoder.source, encoder.loaded)
"""


@pytest.fixture
def photo(tmp_path: Path) -> Path:
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (300, 400, 3), dtype=np.uint8)).save(tmp_path / 'a.png')
    return tmp_path / 'a.png'


def drawn(name: str, **arguments: object) -> nn.Module:
    """Return a timm model whose weights and statistics are all random."""
    model = timm.create_model(name, **arguments).eval()
    for value in model.state_dict().values():
        if value.is_floating_point():
            value.copy_(value + torch.rand(value.shape) * 0.1)
    return model


MODELS = dict(
    test_vit=dict(img_size=96),
    test_convnext=dict(num_classes=0),
    resnet10t=dict(in_chans=3),
    vit_small_patch16_dinov3=dict(depth=1),
)


@pytest.mark.parametrize('name', MODELS)
def test_a_folder_that_timm_saved_needs_no_config(name: str, tmp_path: Path, photo: Path) -> None:
    """timm's own loading of the folder, and its own transform of the image, are the reference."""
    arguments, folder = MODELS[name], tmp_path / 'saved'
    save_for_hf(drawn(name, **arguments), folder, model_args=dict(arguments), safe_serialization=True)
    theirs = timm.create_model(f'local-dir:{folder}', pretrained=True, num_classes=0).eval()
    transform = timm.data.create_transform(**timm.data.resolve_model_data_config(theirs), is_training=False)
    encoder, image = mixcl.load_backbone(folder), Image.open(photo)
    torch.testing.assert_close(encoder.preprocess(image), transform(image), rtol=0, atol=1e-5)
    images = transform(image)[None]
    with torch.no_grad():
        assert torch.equal(encoder(images), theirs(images))


def test_names_are_read_as_timm_reads_them(
    pretrained: Path, tmp_path: Path, photo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The client of the hub is the real one; once the hub is gone, the client's cache serves."""
    with served() as hub:
        hub.files['timm/test_vit.r160_in1k'] = {'model.safetensors': save(drawn('test_vit').state_dict())}
        words = ('-c', WITH_A_HUB, pretrained, tmp_path / 'out', photo)
        result = python(*words, home=tmp_path, HF_ENDPOINT=hub.endpoint, HF_TOKEN='of a test')
    assert result.returncode == 0, result.stderr
    assert [*re.findall(r'^read: (\S+) format: timm;', result.stdout, re.M)] == ['hf-hub:me/digits', 'timm:test_vit']
    written = {file.name: file.read_bytes() for file in (tmp_path / 'out').iterdir()}
    assert hub.files['me/digits'] == written and hub.private == {'me/digits'}
    assert written.keys() == {'config.json', 'model.safetensors', 'README.md'}
    assert "timm.create_model('hf-hub:me/digits', pretrained=True)" in written['README.md'].decode()
    monkeypatch.setattr(constants, 'HF_HUB_CACHE', str(tmp_path / 'hub'))
    monkeypatch.setattr(constants, 'HF_HUB_OFFLINE', True)
    of_run, of_hub = read_pretrained(pretrained, 'target'), read_pretrained('hf-hub:me/digits')
    assert torch.equal(of_hub.state['pos_embed'], of_run.state['pos_embed'])


def test_what_is_not_there_is_said_in_a_sentence(
    tmp_path: Path, pretrained: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pickled weights are not even downloaded."""
    monkeypatch.setattr(constants, 'HF_HUB_CACHE', str(tmp_path))
    with served() as hub, monkeypatch.context() as patch:
        address = constants.HUGGINGFACE_CO_URL_TEMPLATE.replace(constants.ENDPOINT, hub.endpoint)
        patch.setattr(constants, 'HUGGINGFACE_CO_URL_TEMPLATE', address)
        hub.files['me/pickled'] = {'config.json': b'{}', 'pytorch_model.bin': b'code'}
        with pytest.raises(UserError, match=r'hf-hub:me/pickled cannot be had: model.safetensors of me/pickled .*404'):
            read_pretrained('hf-hub:me/pickled')
        assert hub.asked and not any('pytorch_model.bin' in asked for asked in hub.asked)
    monkeypatch.setattr(constants, 'HF_HUB_OFFLINE', True)
    advice = rf'neither in the cache of huggingface_hub, {re.escape(str(tmp_path))}, nor .*; name a file, or a folder'
    with pytest.raises(UserError, match=advice):
        read_pretrained('timm:test_vit')
    with pytest.raises(UserError, match=r'no weights timm:vit_tiny_patch16_22: .*did you mean vit_tiny_patch16_224'):
        read_pretrained('timm:vit_tiny_patch16_22')
    with pytest.raises(UserError, match=r'push=me/it.* log in by `hf auth login`.*; nothing was written'):
        mixcl.export(pretrained, 'timm', tmp_path / 'out', push='me/it')
    assert not (tmp_path / 'out').exists()


def test_a_run_is_named_by_its_folder(pretrained: Path) -> None:
    of_folder, of_file = read_pretrained(pretrained.parent), read_pretrained(pretrained)
    assert of_folder.source == str(pretrained) == of_file.source
