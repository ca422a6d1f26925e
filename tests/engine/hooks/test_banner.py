"""The banner that a run logs at its start."""

import io
import logging
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
import tiny
import torch
from mmengine.config import Config
from mmengine.optim import OptimWrapper
from torch import nn
from torch.optim import SGD, AdamW

from mixcl.engine import BannerHook, CheckpointHook, MoCoLARS
from mixcl.engine.hooks.banner import checkpoint_bytes


def banner(
    caplog: pytest.LogCaptureFixture,
    accumulative_counts: int = 1,
    model: nn.Module | None = None,
    auto_scale_lr: dict | None = None,
    recipe: dict | None = None,
    **changes: object,
) -> str:
    """Return the banner of a run with 128 images on each of 8 processes, after the schedules have set the learning
    rate of the first step, 0."""
    caplog.clear()
    caplog.set_level(logging.INFO)
    model = tiny.build() if model is None else model
    parameters = [p for p in model.parameters() if p.requires_grad]
    groups = [dict(params=parameters[:2]), dict(params=parameters[2:], weight_decay=0.0)]
    optimizer = torch.optim.AdamW([dict(group, initial_lr=2e-3) for group in groups], lr=0.0, weight_decay=0.04)
    settings = dict(
        model=model,
        train_dataloader=torch.utils.data.DataLoader(range(1280), batch_size=128),
        train_loop=SimpleNamespace(max_epochs=300),
        val_loop=SimpleNamespace(),
        world_size=8,
        seed=7,
        iter=0,
        hooks=[],
        work_dir='.',
        cfg=Config(dict(work_dir='work_dirs/banner', auto_scale_lr=auto_scale_lr, recipe=recipe)),
        optim_wrapper=OptimWrapper(optimizer, accumulative_counts=accumulative_counts),
        logger=logging.getLogger('banner'),
    )
    BannerHook().before_train(SimpleNamespace(**settings | changes))
    (message,) = caplog.messages
    return message


def test_size_of_a_run(caplog: pytest.LogCaptureFixture) -> None:
    text, model = banner(caplog), tiny.build()
    trained = sum(p.numel() for p in model.parameters() if p.requires_grad)
    backbone = sum(p.numel() for p in model.backbone.parameters())
    assert 'global batch 1024: 128 images on each of 8 process(es)\n' in text
    assert f'parameters: {trained / 1e6:.2f} M trained, of which the backbone has {backbone / 1e6:.2f} M' in text
    assert 'encoder passes per image and step: 2 with gradient, 3 without' in text
    assert '10 steps per epoch, 300 epochs, seed 7, OptimWrapper' in text
    assert 'not built' not in text
    plain = tiny.build(terms=[('view1', 'view2', 1.0)])
    unnamed = 'not built, since no row of model.terms uses them: mix1, mix2; nothing is mixed\n'
    assert unnamed in banner(caplog, model=plain)
    assert 'kNN' not in text + banner(caplog, val_loop=None)
    several = banner(caplog, accumulative_counts=4)
    assert '; gradients of 4 batches are accumulated per step, negatives come from one batch at a time\n' in several


@pytest.mark.parametrize(
    ('auto_scale_lr', 'line'),
    [
        (None, ', as configured'),
        (dict(base_batch_size=1024), ', as configured for batch 1024'),
        (
            dict(base_batch_size=256),
            ', as configured for batch 256 and NOT scaled; with `auto_scale_lr` it would be 0.008 (linear rule)',
        ),
        # The Runner has already scaled: the 0.0005 of the config became 0.002.
        (dict(base_batch_size=256, enable=True), ': the 0.0005 of batch 256, scaled linearly to 1024'),
        (dict(base_batch_size=102400, enable=True), ': the 0.2 of batch 102400, scaled linearly to 1024'),
    ],
)
def test_learning_rate_and_its_rule(caplog: pytest.LogCaptureFixture, auto_scale_lr: dict | None, line: str) -> None:
    assert f'  learning rate 0.002{line}\n' in banner(caplog, auto_scale_lr=auto_scale_lr)


def test_the_rate_of_a_recipe(caplog: pytest.LogCaptureFixture) -> None:
    def line(batch: int, lr: float = 5e-4) -> str:
        text = banner(caplog, recipe=dict(batch=batch, optimizer=dict(lr=lr)))
        return next(line for line in text.splitlines() if 'learning rate' in line)

    scaled = (
        "  learning rate 0.002, scaled linearly from the recipe's batch of {}: more processes or a larger at_once take "
    )
    assert line(1024) == "  learning rate 0.002, the recipe's for its batch"
    assert line(1024, lr=1e-3) == '  learning rate 0.002, as given'
    assert line(102400) == scaled.format(102400) + 'more images'
    few = 'more images; WARNING: below a hundredth of the recipe'
    assert line(102401).startswith(scaled.format(102401) + few)


@pytest.mark.parametrize('make', [AdamW, SGD, partial(SGD, momentum=0.9), partial(MoCoLARS, lr=0.1)])
def test_the_size_of_a_checkpoint_is_known_before_the_first_step(make: Callable[..., torch.optim.Optimizer]) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(100, 500), torch.nn.BatchNorm1d(500), torch.nn.Linear(500, 100))
    model[2].requires_grad_(False)  # like a target encoder
    optimizer = make(model.parameters())
    expected = checkpoint_bytes(model, optimizer)
    model(torch.randn(4, 100)).sum().backward()
    optimizer.step()
    file = io.BytesIO()
    torch.save(dict(state_dict=model.state_dict(), optimizer=optimizer.state_dict()), file)
    assert len(file.getvalue()) == pytest.approx(expected, rel=0.03)


def test_the_disk_that_checkpoints_take(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    model = torch.nn.Module()
    model.backbone = torch.nn.Linear(1000, 1000, bias=False)
    wrapper = OptimWrapper(torch.optim.AdamW(model.parameters()))
    hooks = [CheckpointHook(max_keep_ckpts=2)]
    text = banner(caplog, model=model, optim_wrapper=wrapper, hooks=hooks, work_dir=str(tmp_path))
    # Weights and two moments of 4 bytes each; a new file is written before an old one is removed.
    assert 'checkpoints of 12.0 MB, at most 3 at a time, which take 36.0 MB; the disk has ' in text
