"""Reading checkpoints, and refusing those that do not fit."""

import os
from pathlib import Path

import pytest
import torch
from mmengine.runner import CheckpointLoader, save_checkpoint
from torch import nn

from mixcl.errors import UserError
from mixcl.weights import check_fits, check_resumable, load_checkpoints_as_data, read_checkpoint, read_state_dict


def layers(width: int = 3) -> nn.Module:
    return nn.Sequential(nn.Linear(2, width), nn.BatchNorm1d(width))


def save(folder: Path, content: object) -> Path:
    path = folder / 'checkpoint.pth'
    torch.save(content, path)
    return path


def assert_equal(left: dict, right: dict) -> None:
    assert list(left) == list(right)
    assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize('prefix', ['', 'module.'])
@pytest.mark.parametrize('wrapped', [True, False])
def test_reads_weights_as_mmengine_and_as_others_save_them(tmp_path: Path, prefix: str, wrapped: bool) -> None:
    weights = layers().state_dict()
    saved = {prefix + name: value for name, value in weights.items()}
    path = save(tmp_path, dict(state_dict=saved, meta=dict(epoch=3)) if wrapped else saved)
    assert_equal(read_state_dict(path), weights)


def test_reads_what_a_run_saves(tmp_path: Path) -> None:
    model = layers()
    save_checkpoint(dict(state_dict=model.state_dict(), meta={}), str(tmp_path / 'epoch_1.pth'))
    assert_equal(read_state_dict(str(tmp_path / 'epoch_1.pth')), model.state_dict())


@pytest.mark.parametrize(
    'content', [dict(state_dict={}), dict(epoch=1), [torch.zeros(1)], torch.zeros(2), dict(state_dict=dict(a=1))]
)
def test_a_file_without_weights_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(UserError, match=r'checkpoint\.pth (holds no weights|is no checkpoint)'):
        read_state_dict(save(tmp_path, content))


@pytest.mark.parametrize('content', [b'', b'no archive', b'PK\x03\x04 cut short'])
def test_a_damaged_file_is_refused_in_one_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / 'damaged.pth'
    path.write_bytes(content)
    with pytest.raises(UserError, match=r'damaged\.pth cannot be read as a checkpoint') as raised:
        read_state_dict(path)
    assert '\n' not in str(raised.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'there is no checkpoint file .*nothing'):
        read_state_dict(tmp_path / 'nothing.pth')


def test_weights_of_another_shape_are_refused(tmp_path: Path) -> None:
    state = read_state_dict(save(tmp_path, layers(4).state_dict()))
    with pytest.raises(UserError, match=r'6 tensors have another shape.* 0\.weight is \(4, 2\) .* and \(3, 2\)'):
        check_fits(layers(), state, 'some.pth')


class Payload:
    """A pickle that runs a command when it is read."""

    def __init__(self, marker: Path) -> None:
        self.marker = marker

    def __reduce__(self) -> tuple:
        return os.mkdir, (str(self.marker),)


def test_a_file_that_runs_code_is_refused_and_does_not_run(tmp_path: Path) -> None:
    path = save(tmp_path, dict(state_dict=layers().state_dict(), extra=Payload(tmp_path / 'ran')))
    load_checkpoints_as_data()
    with pytest.raises(UserError, match='holds more than tensors and plain values'):
        read_state_dict(path)
    with pytest.raises(UserError, match='holds more than tensors and plain values'):
        CheckpointLoader.load_checkpoint(str(path))
    assert not (tmp_path / 'ran').exists()


def test_weights_alone_cannot_be_resumed(tmp_path: Path) -> None:
    path = save(tmp_path, dict(state_dict=layers().state_dict()))
    with pytest.raises(
        UserError, match=r'holds weights but no state of a run \(meta, optimizer, message_hub missing\)'
    ):
        check_resumable(read_checkpoint(path), path)


def test_missing_and_unknown_names_are_told() -> None:
    state = layers().state_dict()
    state['2.weight'] = state.pop('0.bias')
    with pytest.raises(UserError, match=r'1 are missing, for example 0\.bias; 1 are not in the model, .* 2\.weight'):
        check_fits(layers(), state, 'some.pth')
    check_fits(layers(), layers().state_dict(), 'some.pth')


@pytest.mark.parametrize('content', [dict(state_dict=[1]), {1: torch.zeros(1)}])
def test_what_is_no_dict_of_named_tensors_holds_no_weights(tmp_path: Path, content: dict) -> None:
    with pytest.raises(UserError, match='holds no weights'):
        read_state_dict(save(tmp_path, content))
