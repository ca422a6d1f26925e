"""What a run shows in the terminal, beside its log."""

import io
import os
import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent
from types import SimpleNamespace

import pytest
import torch
from engine.tiny_runs import run_config, trained
from hosts import byol
from mmengine.logging import MessageHub
from torch import nn

from mixcl import terminal
from mixcl.engine import ProgressHook
from mixcl.engine.hooks.health import DeferredInfoHook
from mixcl.engine.runners.launch import build_runner
from mixcl.engine.runners.quiet_runner import put_channels_last
from mixcl.registry import MODELS


def test_the_terminal_has_what_people_need_and_the_file_has_all(tmp_path: Path, capsys: pytest.CaptureFixture) -> None:
    trained(run_config(tmp_path))
    shown, log = capsys.readouterr().out, next(tmp_path.glob('*/*.log')).read_text()
    lines = [line for line in shown.splitlines() if 'steps/s' not in line]  # a slow machine shows more of those
    assert shown.startswith(f'this run, in {tmp_path}:\n  global batch 8') and len(lines) <= 12
    assert re.search(r'^10 of 10 steps in \d:\d\d:\d\d, loss [\d.]+\n$', shown.splitlines(keepends=True)[-1])
    for part in ('System environment:', 'Config:', 'Hooks will be executed', 'Epoch(train) [2][5/5]', 'this run, in '):
        assert part in log and (part == 'this run, in ' or part not in shown)


def test_hooks_that_are_none_are_left_out(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path, default_hooks__health=None, default_hooks__timer=None))
    assert not {'HealthHook', 'IterTimerHook'} & {type(hook).__name__ for hook in runner.hooks}


def test_the_live_line_of_a_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True
    monkeypatch.setattr(sys, 'stdout', screen)
    monkeypatch.setattr(terminal, 'REDRAWN', 0)
    monkeypatch.setenv('TERM', 'xterm')
    trained(run_config(tmp_path))
    looks = re.findall(r'(epoch \d/2: \d+/10 steps), [\d.]+ steps/s, \S+ left, loss [\d.]+', screen.getvalue())
    assert list(dict.fromkeys(looks)) == [f'epoch {1 + (step > 5)}/2: {step}/10 steps' for step in range(1, 11)]


def test_the_average_loss_and_the_newest_measure_are_shown() -> None:
    hub = MessageHub.get_instance('progress')
    runner = SimpleNamespace(
        max_iters=100, iter=0, epoch=0, max_epochs=1, message_hub=hub, cfg=SimpleNamespace(train_cfg=['max_epochs'])
    )
    assert ProgressHook()._note(runner) == ''
    hub.update_scalar('train/loss', 4.5)
    assert ProgressHook()._note(runner) == 'loss 4.5'
    hub.update_scalar('train/loss', 5.5)
    hub.update_scalar('val/online_knn20_top1', 61.5)
    assert ProgressHook()._note(runner) == 'loss 5, kNN (k=20) 61.5'
    for _ in range(50):
        hub.update_scalar('train/loss', 2.0)
    assert ProgressHook()._note(runner) == 'loss 2, kNN (k=20) 61.5'


def test_on_a_cpu_the_loss_of_each_step_is_shown_before_the_log_has_a_line() -> None:
    hook, hub = DeferredInfoHook(), MessageHub.get_instance('slow')
    runner = SimpleNamespace(message_hub=hub, hooks=[], train_dataloader=range(100))
    for step in range(5):
        hook.after_train_iter(runner, step, outputs=dict(loss=torch.tensor(float(step))))
        assert hub.get_scalar('train/loss').data[0].tolist() == list(range(step + 1))


@pytest.mark.parametrize(('backbone', 'last'), [('resnet', True), ('vit', False)])
def test_resnets_keep_channels_last_and_transformers_do_not(backbone: str, last: bool) -> None:
    model = MODELS.build(byol(backbone=backbone)).double()
    images = [torch.randn(4, 3, 8, 8, dtype=torch.float64) for _ in range(2)]
    before = model.loss(images)
    put_channels_last(model)
    layers = [layer for layer in model.modules() if isinstance(layer, nn.Conv2d) and layer.kernel_size[0] > 1]
    assert all(layer.weight.is_contiguous(memory_format=torch.channels_last) == last for layer in layers)
    torch.testing.assert_close(model.loss(images), before, rtol=1e-6, atol=1e-8)


def test_gradients_of_padded_average_pooling_are_right_on_gpus_since_it_keeps_its_layout() -> None:
    model = MODELS.build(byol(backbone='resnet'))
    model.backbone.maxpool = nn.AvgPool2d(3, 2, padding=1)
    put_channels_last(model)
    assert model.backbone.layer1[0].conv1.weight.is_contiguous()


NARROW = """
    import torch
    from hosts import BACKBONES, WIDTHS, byol
    from mixcl.engine.runners.quiet_runner import put_channels_last
    from mixcl.registry import MODELS
    BACKBONES['resnet'].update(stem_channels=4, base_channels=4)
    WIDTHS['resnet'] = 32
    model = MODELS.build(byol(backbone='resnet'))
    put_channels_last(model)
    for _ in range(12):
        sum(model.loss([torch.randn(8, 3, 16, 16) for _ in range(2)]).values()).backward()
"""


@pytest.mark.long
def test_a_narrow_resnet_trains_where_channels_last_would_corrupt_memory() -> None:
    environment = {**os.environ, 'ONEDNN_MAX_CPU_ISA': 'AVX2', 'PYTHONPATH': os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, '-c', dedent(NARROW)], env=environment, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr
