"""No way of naming a checkpoint runs what is in it."""

import functools
import http.server
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mmengine.runner import CheckpointLoader
from safetensors.torch import save_file
from torch import nn

from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import allow_pickle, downloads, load_checkpoints_as_data, load_plain, read_state_dict, safe_loading

REFUSED = 'holds more than tensors and plain values'


class Payload:
    """A pickle that makes a folder when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """What the payload makes."""
    return tmp_path / 'ran'


@pytest.fixture
def malicious(tmp_path: Path, marker: Path) -> Path:
    folder = tmp_path / 'files'
    folder.mkdir()
    path = folder / 'malicious.pth'
    torch.save(dict(state_dict=dict(weight=torch.zeros(2)), extra=Payload(marker)), path)
    return path


@pytest.fixture
def schemes(monkeypatch: pytest.MonkeyPatch) -> dict:
    """mmengine's readers by prefix, as the tools leave them."""
    monkeypatch.setattr(CheckpointLoader, '_schemes', dict(CheckpointLoader._schemes))
    load_checkpoints_as_data()
    return CheckpointLoader._schemes


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of the folder of the malicious file; downloads go to a folder of the test."""
    monkeypatch.setattr(torch.hub, '_hub_dir', str(tmp_path / 'hub'))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / 'files'))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, 'log_message', lambda *_: None)
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


def test_what_a_file_wants_is_named(malicious: Path, marker: Path) -> None:
    with pytest.raises(UserError, match=rf'{REFUSED} \(posix\.mkdir\).*--allow-pickle reads it'):
        load_plain(malicious)
    assert not marker.exists()


def test_only_the_explicit_way_out_runs_it(malicious: Path, marker: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(safe_loading, '_pickle_allowed', False)
    allow_pickle()
    assert torch.equal(load_plain(malicious)['state_dict']['weight'], torch.zeros(2))
    assert marker.exists()


def test_every_scheme_of_the_engine_reads_data_or_refuses(malicious: Path, marker: Path, schemes: dict) -> None:
    assert len(schemes) >= 10
    assert {reader.__name__ for reader in schemes.values()} == {'load_from_file'}
    for scheme in ('pavi', 's3', 'petrel', 'cluster:s3', 'modelzoo', 'open-mmlab', 'openmmlab', 'mmcls', 'file'):
        with pytest.raises(UserError, match=r'are not read from .*://'):
            CheckpointLoader.load_checkpoint(f'{scheme}://{malicious}')
    with pytest.raises(UserError, match="torchvision has no weights 'resnet51'"):
        CheckpointLoader.load_checkpoint('torchvision://resnet51')
    with pytest.raises(UserError, match=REFUSED):
        CheckpointLoader.load_checkpoint(str(malicious))
    assert not marker.exists()


def test_a_download_is_read_as_data(malicious: Path, marker: Path, server: str, schemes: dict) -> None:
    with pytest.raises(UserError, match=REFUSED):
        CheckpointLoader.load_checkpoint(f'{server}/malicious.pth')
    assert not marker.exists()
    save_file(dict(weight=torch.ones(3)), malicious.parent / 'model.safetensors')
    assert torch.equal(read_state_dict(f'{server}/model.safetensors')['weight'], torch.ones(3))
    with pytest.raises(UserError, match=r'nothing\.pth cannot be downloaded: .*404'):
        read_state_dict(f'{server}/nothing.pth')


def test_files_of_one_name_are_told_apart(malicious: Path, server: str) -> None:
    for number in (1, 2):
        (malicious.parent / str(number)).mkdir()
        save_file(dict(weight=torch.full((1,), number)), malicious.parent / f'{number}/model.safetensors')
    for number in (1, 2):
        assert read_state_dict(f'{server}/{number}/model.safetensors')['weight'].item() == number


def test_torchvision_weights_must_have_their_hash(
    malicious: Path, server: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.save(dict(weight=torch.zeros(1)), malicious.parent / 'resnet50-0123abcd.pth')
    known = dict(resnet50=f'{server}/resnet50-0123abcd.pth')
    monkeypatch.setattr(downloads, 'get_torchvision_models', lambda: known)
    with pytest.raises(UserError, match=r'cannot be downloaded: invalid hash value'):
        load_plain('torchvision://resnet50')


def test_pretrained_parts_of_a_config_are_read_as_data(malicious: Path, marker: Path, schemes: dict) -> None:
    initialised = MODELS.build(
        dict(type='mmpretrain.ResNet_CIFAR', depth=18, init_cfg=dict(type='Pretrained', checkpoint=str(malicious)))
    )
    with pytest.raises(UserError, match=REFUSED):
        initialised.init_weights()
    assert not marker.exists()


def test_safetensors_are_read(tmp_path: Path) -> None:
    weights = nn.Linear(2, 3).state_dict()
    save_file(weights, tmp_path / 'model.safetensors')
    torch.testing.assert_close(read_state_dict(tmp_path / 'model.safetensors'), dict(weights), rtol=0, atol=0)
    (tmp_path / 'model.safetensors').write_bytes(b'short')
    with pytest.raises(UserError, match='is damaged'):
        read_state_dict(tmp_path / 'model.safetensors')


def test_a_file_that_differs_from_its_checksum_is_refused(tmp_path: Path) -> None:
    torch.save(dict(weight=torch.zeros(2)), tmp_path / 'epoch_1.pth')
    (tmp_path / 'epoch_1.pth.sha256').write_text('0' * 64)
    with pytest.raises(UserError, match=r'epoch_1\.pth is damaged: its content is not what its checksum'):
        load_plain(tmp_path / 'epoch_1.pth')
