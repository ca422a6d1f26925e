"""A disk that is full while a run is under way."""

import builtins
import logging
from pathlib import Path
from typing import Any

import pytest
from engine.tiny_runs import run_config
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.engine.runners.launch import build_runner

FULL = '/dev/full'
"""Linux' own: a write to it fails as on a full disk."""


class FillDisk(Hook):
    """When training begins, neither log nor scalars nor events of TensorBoard find room."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch = monkeypatch

    def before_train(self, runner: Runner) -> None:
        for handler in runner.logger.handlers:
            if isinstance(handler, logging.FileHandler):
                handler.setStream(open(FULL, 'w'))  # noqa: SIM115
        opened = builtins.open

        def full(path: Any, mode: str = 'r', *rest: Any, **options: Any) -> Any:
            return opened(FULL if 'vis_data' in str(path) else path, mode, *rest, **options)

        self.monkeypatch.setattr(builtins, 'open', full)


def test_logs_without_room_do_not_end_a_run_and_it_says_so_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture
) -> None:
    cfg = run_config(tmp_path)
    cfg.visualizer.vis_backends = [dict(type='LocalVisBackend'), dict(type='TensorboardVisBackend')]
    (tmp_path / 'environment.json').mkdir()
    runner = build_runner(cfg)
    runner.register_hook(FillDisk(monkeypatch))
    runner.train()
    assert (tmp_path / 'epoch_2.pth').exists()
    captured = capfd.readouterr()
    (line,) = [line for line in captured.out.splitlines() if 'logs and curves cannot be written' in line]
    assert '(No space left on device): the run goes on' in line
    assert 'Logging error' not in captured.err
