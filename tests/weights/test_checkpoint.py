"""Checkpoints are read, whatever wrote them; no way of naming one runs its content; unfit ones are refused."""

import functools
import http.server
import os
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from mmengine.runner import CheckpointLoader
from safetensors.torch import save_file
from torch import nn
from weights.damage import checksum

from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import allow_pickle, check_fits, load_checkpoints_as_data, read_checkpoint, weights_of

REFUSED = 'holds more than tensors and plain values'


def layers(width: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width))


def save(folder: Path, content: object) -> Path:
    path = folder / 'checkpoint.pth'
    torch.save(content, path)
    return path


def read(path: object) -> dict[str, torch.Tensor]:
    return weights_of(read_checkpoint(path), path)


def test_weights_are_read_as_mmengine_and_as_others_save_them(tmp_path: Path) -> None:
    weights = layers().state_dict()
    for prefix in ('', 'module.'):
        saved = {prefix + name: value for name, value in weights.items()}
        save_file(saved, tmp_path / 'model.safetensors')
        paths = [save(tmp_path, dict(state_dict=saved, meta=dict(epoch=3))), tmp_path / 'model.safetensors']
        for found in (*map(read, paths), read(save(tmp_path, saved))):
            torch.testing.assert_close(found, dict(weights), rtol=0, atol=0)


def test_a_file_without_weights_is_refused(tmp_path: Path) -> None:
    for content in (dict(state_dict={}), dict(epoch=1), dict(state_dict=dict(a=1)), dict(state_dict=[1]), [1]):
        with pytest.raises(UserError, match=r'checkpoint\.pth (holds no weights|is no checkpoint)'):
            read(save(tmp_path, content))


def test_missing_and_damaged_files(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'there is no checkpoint file .*nothing'):
        read(tmp_path / 'nothing.pth')
    for content in (b'', b'no archive', b'PK\x03\x04 cut short'):
        for name in ('damaged.pth', 'damaged.safetensors'):
            (tmp_path / name).write_bytes(content)
            with pytest.raises(UserError, match=rf'{name} cannot be read as a checkpoint') as raised:
                read(tmp_path / name)
            assert '\n' not in str(raised.value)
    path = save(tmp_path, dict(weight=torch.zeros(2)))
    checksum(path).write_text('0' * 64)
    with pytest.raises(UserError, match=r'checkpoint\.pth is damaged: its content is not what its checksum'):
        read(path)


def test_another_architecture_is_refused() -> None:
    check_fits(layers(), layers().state_dict(), 'some.pth')
    renamed = layers().state_dict()
    renamed['2.weight'] = renamed.pop('0.bias')
    for state, reason in (
        (layers(4).state_dict(), '6 of 7 tensors have another shape, for example 0.weight is (4, 2) in the file and'),
        (renamed, '1 of 7 tensors are not in the file, for example 0.bias; the file has 1 tensors more'),
    ):
        with pytest.raises(UserError, match=rf'some\.pth is of another architecture .* {re.escape(reason)}'):
            check_fits(layers(), state, 'some.pth')


# ----- files that want to run code -----


class Payload:
    """A pickle that makes a folder when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.marker),)


@pytest.fixture
def malicious(tmp_path: Path) -> Path:
    """Save a file whose pickle makes a folder ``ran`` beside it."""
    (tmp_path / 'files').mkdir()
    content = dict(state_dict=dict(weight=torch.zeros(2)), extra=Payload(tmp_path / 'files/ran'))
    return save(tmp_path / 'files', content)


@pytest.fixture
def schemes(monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return mmengine's readers by prefix, as the tools set them."""
    monkeypatch.setattr(CheckpointLoader, '_schemes', dict(CheckpointLoader._schemes))
    load_checkpoints_as_data()
    return CheckpointLoader._schemes


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Serve the malicious file's folder, and yield its address; downloads go to a folder of the test."""
    monkeypatch.setattr(torch.hub, '_hub_dir', str(tmp_path / 'hub'))
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / 'files'))
    monkeypatch.setattr(http.server.SimpleHTTPRequestHandler, 'log_message', lambda *_: None)
    with http.server.ThreadingHTTPServer(('127.0.0.1', 0), handler) as server:
        threading.Thread(target=server.serve_forever, kwargs=dict(poll_interval=0.01), daemon=True).start()
        yield f'http://127.0.0.1:{server.server_port}'
        server.shutdown()


def test_only_the_explicit_way_out_runs_a_file(malicious: Path) -> None:
    with pytest.raises(UserError, match=rf'{REFUSED} \(posix\.mkdir\).*read it with `allow_pickle`'):
        read(malicious)
    assert not (malicious.parent / 'ran').exists()
    with allow_pickle():
        assert torch.equal(read(malicious)['weight'], torch.zeros(2))
    assert (malicious.parent / 'ran').exists()
    with pytest.raises(UserError, match=REFUSED), allow_pickle(False):
        read(malicious)


def test_no_program_is_left_for_the_engine_to_run(tmp_path: Path) -> None:
    """mmengine's ``Runner.resume`` runs ``meta['config']`` as a program."""
    path = save(tmp_path, dict(state_dict=dict(weight=torch.zeros(2)), meta=dict(config='import evil', iter=1)))
    assert read_checkpoint(path)['meta'] == dict(iter=1)


def test_every_scheme_of_the_engine_reads_data_or_refuses(malicious: Path, schemes: dict) -> None:
    assert len(schemes) >= 10
    assert {reader.__name__ for reader in schemes.values()} == {'load_from_file'}
    for scheme in ('pavi', 's3', 'petrel', 'cluster:s3', 'modelzoo', 'open-mmlab', 'openmmlab', 'torchvision', 'file'):
        with pytest.raises(UserError, match=r'are not read from .*://'):
            CheckpointLoader.load_checkpoint(f'{scheme}://{malicious}')
    with pytest.raises(UserError, match=REFUSED):
        CheckpointLoader.load_checkpoint(str(malicious))
    pretrained = dict(type='Pretrained', checkpoint=str(malicious))
    with pytest.raises(UserError, match=REFUSED):
        MODELS.build(dict(type='mmpretrain.ResNet_CIFAR', depth=18, init_cfg=pretrained)).init_weights()
    assert not (malicious.parent / 'ran').exists()


def test_a_download_is_read_as_data(malicious: Path, server: str, schemes: dict) -> None:
    with pytest.raises(UserError, match=REFUSED):
        CheckpointLoader.load_checkpoint(f'{server}/checkpoint.pth')
    assert not (malicious.parent / 'ran').exists()
    with pytest.raises(UserError, match=r'nothing\.pth cannot be downloaded: .*404'):
        read(f'{server}/nothing.pth')
    # Files with the same name are told apart.
    for number in (1, 2):
        (malicious.parent / str(number)).mkdir()
        save_file(dict(weight=torch.full((1,), number)), malicious.parent / f'{number}/model.safetensors')
    for number in (1, 2):
        assert read(f'{server}/{number}/model.safetensors')['weight'].item() == number
