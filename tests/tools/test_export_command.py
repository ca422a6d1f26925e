"""tools/export.py on the checkpoint of a run."""

from pathlib import Path

import pytest
import timm
import torch
from tools.in_process import run_as_given

from mixcl.commands.export import TARGETS
from mixcl.weights import read_pretrained
from mixcl.weights.export import WRITERS


def test_a_run_is_exported_to_timm(pretrained: Path, tmp_path: Path, capfd: pytest.CaptureFixture) -> None:
    arguments = ('tools/export.py', pretrained, '--to', 'timm', '--out', tmp_path / 'out')
    assert run_as_given(*arguments, '--encoder', 'target') == 0
    assert f"timm.create_model('local-dir:{tmp_path / 'out'}', pretrained=True)" in capfd.readouterr().out
    model = timm.create_model(f'local-dir:{tmp_path / "out"}', pretrained=True)
    expected = read_pretrained(pretrained, 'target').state
    assert torch.equal(model.state_dict()['pos_embed'], expected['pos_embed'])
    assert run_as_given(*arguments) == 2
    assert capfd.readouterr().err.startswith('error: ')


def test_formats_of_the_command_are_all() -> None:
    assert tuple(WRITERS) == TARGETS
