"""Clipped gradients: APS's published vector and its state in checkpoints; DINO's, each by itself."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.runner import Runner
from torch import nn

from mixcl.engine import AdaptiveClipHook, ParameterClipHook
from mixcl.engine.hooks.gradient_clip import BlockClip
from mixcl.errors import UserError

HOOK = dict(type='AdaptiveClipHook')


def block(*sizes: int) -> list[nn.Parameter]:
    return [nn.Parameter(torch.zeros(size, dtype=torch.float64)) for size in sizes]


def give(parameters: list[nn.Parameter], *values: float) -> None:
    """Spread one gradient vector over the parameters."""
    vector = torch.tensor(values, dtype=torch.float64)
    for parameter, part in zip(parameters, vector.split([len(p) for p in parameters]), strict=True):
        parameter.grad = part.clone()


def gradient(parameters: list[nn.Parameter]) -> list[float]:
    return torch.cat([parameter.grad for parameter in parameters]).tolist()


@pytest.mark.parametrize('sizes', [(2,), (1, 1)])
def test_vector_9(sizes: tuple[int, ...]) -> None:
    parameters = block(*sizes)
    clip = BlockClip(parameters, momentum=0.4, alpha=1.05)
    give(parameters, 3, 4)
    assert not clip()
    assert gradient(parameters) == [3, 4]
    give(parameters, 6, 8)
    assert clip()
    assert gradient(parameters) == pytest.approx([3, 4], abs=1e-7)
    assert clip.mean.tolist() == pytest.approx([4.8, 6.4]), 'the mean follows what came, not what was clipped'
    give(parameters, -3, 4)
    assert not clip()
    assert gradient(parameters) == [-3, 4]
    assert clip.mean.tolist() == pytest.approx([0.12, 4.96])
    assert clip.mean.norm().item() == pytest.approx(4.961451, abs=5e-7)


def test_a_step_that_is_not_taken_leaves_the_mean_alone() -> None:
    parameters = block(2)
    clip = BlockClip(parameters, momentum=0.4, alpha=1.05)
    for refused, mean in ((1, [0, 0]), (0, [3, 4])):
        give(parameters, 3, 4)
        assert not clip(torch.tensor(float(refused)))
        assert clip.mean.tolist() == mean


@pytest.mark.parametrize('bad', [float('inf'), float('nan')])
def test_gradients_that_are_not_finite_leave_the_mean_alone(bad: float) -> None:
    parameters = block(2, 1)
    clip = BlockClip(parameters, momentum=0.4, alpha=1.05)
    give(parameters, bad, 0, 0)
    assert not clip()
    assert clip.mean.tolist() == [0, 0, 0]
    give(parameters, 1, 2, 2)
    clip()
    give(parameters, 9, 9, bad)
    assert not clip()
    assert clip.mean.tolist() == [1, 2, 2]
    assert gradient(parameters)[:2] == [9, 9]
    parameters[1].grad = None
    assert not clip()
    assert clip.mean.tolist() == [1, 2, 2]


# ----- in runs -----


def with_hook(folder: Path, hook: dict = HOOK, **overrides: object) -> Runner:
    return trained(run_config(folder, custom_hooks=[hook], **overrides))


def hook_of(runner: Runner) -> AdaptiveClipHook:
    (hook,) = [hook for hook in runner.hooks if isinstance(hook, AdaptiveClipHook)]
    return hook


def state(runner: Runner) -> dict:
    return runner.model.state_dict()


@pytest.fixture(scope='module')
def straight(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Path]:
    folder = tmp_path_factory.mktemp('straight')
    return with_hook(folder), folder


def test_every_block_is_clipped_on_its_own(straight: tuple[Runner, Path]) -> None:
    runner, _ = straight
    assert len(hook_of(runner).clips) == len(runner.model.backbone.layers) == 2
    shares = runner.message_hub.get_scalar('train/clipped_blocks').data[0]
    assert len(shares) == 2 * STEPS_PER_EPOCH
    assert shares[0] == 0
    assert shares.max() > 0


def test_a_resumed_run_takes_up_the_means(straight: tuple[Runner, Path], tmp_path: Path) -> None:
    runner, folder = straight
    checkpoint = str(folder / 'epoch_1.pth')
    resumed = with_hook(tmp_path, resume=True, load_from=checkpoint)
    for clip, other in zip(hook_of(runner).clips, hook_of(resumed).clips, strict=True):
        torch.testing.assert_close(clip.mean, other.mean, rtol=0, atol=0)
    torch.testing.assert_close(state(runner), state(resumed), rtol=0, atol=0)


def test_momentum_zero_is_no_clip(straight: tuple[Runner, Path], tmp_path: Path) -> None:
    off = with_hook(tmp_path / 'off', dict(HOOK, momentum=0))
    plain = trained(run_config(tmp_path / 'plain', custom_hooks=[]))
    torch.testing.assert_close(state(off), state(plain), rtol=0, atol=0)
    weight = 'backbone.layers.0.attn.qkv.weight'
    assert not torch.equal(state(plain)[weight], state(straight[0])[weight]), 'the clip does something'


def test_a_model_without_such_blocks_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no list of blocks 'backbone\.stages'"):
        with_hook(tmp_path, dict(HOOK, blocks='backbone.stages'))


# ----- each by itself -----


def test_every_gradient_is_clipped_by_itself_before_the_step() -> None:
    long, short, zero, unused = (nn.Parameter(torch.zeros(2)) for _ in range(4))
    optimizer = torch.optim.SGD([long, short, zero, unused], lr=1.0)
    ParameterClipHook(max_norm=1.0).before_train(SimpleNamespace(optim_wrapper=SimpleNamespace(optimizer=optimizer)))
    long.grad, short.grad, zero.grad = torch.tensor([3.0, 4.0]), torch.tensor([0.3, 0.4]), torch.zeros(2)
    optimizer.step()
    expected = torch.tensor([[-0.6, -0.8], [-0.3, -0.4], [0, 0], [0, 0]])
    torch.testing.assert_close(torch.stack([long, short, zero, unused]).detach(), expected)


@pytest.mark.parametrize(
    ('hook', 'arguments', 'named'),
    [
        (AdaptiveClipHook, dict(momentum=1.0), r'momentum must lie in \[0, 1\), not 1.0'),
        (AdaptiveClipHook, dict(alpha=0.0), 'alpha must be above 0, not 0.0'),
        (ParameterClipHook, dict(max_norm=0), 'max_norm must be above 0, not 0'),
    ],
)
def test_values_out_of_range_are_refused(hook: type, arguments: dict, named: str) -> None:
    with pytest.raises(UserError, match=named):
        hook(**arguments)
