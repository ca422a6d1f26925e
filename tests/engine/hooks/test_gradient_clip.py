"""Gradient clipping: APS's, with a published vector and its state in checkpoints; DINO's, by parameter."""

from pathlib import Path
from types import SimpleNamespace

import pytest
import torch
from backbones.small_models import MODELS_AND_WIDTHS
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.runner import Runner
from torch import nn

from mixcl.engine import AdaptiveClipHook, ParameterClipHook
from mixcl.engine.hooks.gradient_clip import BlockClip
from mixcl.errors import UserError
from mixcl.registry import MODELS


def block(*sizes: int) -> BlockClip:
    parameters = [nn.Parameter(torch.zeros(size, dtype=torch.float64)) for size in sizes]
    return BlockClip(parameters, momentum=0.4, alpha=1.05)


def clipped(clip: BlockClip, *values: float, refused: float = 0.0) -> list[float] | None:
    """Return the gradient after one call, as one vector over the parameters, or None if it was left alone."""
    vector = torch.tensor(values, dtype=torch.float64)
    for parameter, part in zip(clip.parameters, vector.split([len(p) for p in clip.parameters]), strict=True):
        parameter.grad = part.clone()
    changed = clip(torch.tensor(refused))
    gradient = torch.cat([parameter.grad for parameter in clip.parameters])
    assert changed or torch.allclose(gradient, vector, equal_nan=True)
    return gradient.tolist() if changed else None


@pytest.mark.parametrize('sizes', [(2,), (1, 1)])
def test_vector_9(sizes: tuple[int, ...]) -> None:
    clip = block(*sizes)
    assert clipped(clip, 3, 4) is None
    assert clipped(clip, 6, 8) == pytest.approx([3, 4], abs=1e-7)
    assert clip.mean.tolist() == pytest.approx([4.8, 6.4]), 'the mean follows what came, not what was clipped'
    assert clipped(clip, -3, 4) is None
    assert clip.mean.tolist() == pytest.approx([0.12, 4.96])
    assert clip.mean.norm().item() == pytest.approx(4.961451, abs=5e-7)


@pytest.mark.parametrize('bad', [float('inf'), float('nan')])
def test_steps_that_are_refused_or_not_finite_leave_the_mean_alone(bad: float) -> None:
    clip = block(2, 1)
    assert clipped(clip, bad, 0, 0) is None and clipped(clip, 9, 9, 9, refused=1.0) is None
    assert clip.mean.tolist() == [0, 0, 0]
    assert clipped(clip, 1, 2, 2) is None and clipped(clip, 9, 9, bad) is None
    clip.parameters[1].grad = None
    assert not clip()
    assert clip.mean.tolist() == [1, 2, 2]


def with_hook(folder: Path, **overrides: object) -> tuple[Runner, list[BlockClip]]:
    hook = dict(type='AdaptiveClipHook', **overrides.pop('hook', {}))
    runner = trained(run_config(folder, custom_hooks=[hook], **overrides))
    (clips,) = [hook.clips for hook in runner.hooks if isinstance(hook, AdaptiveClipHook)]
    return runner, clips


def test_every_block_is_clipped_on_its_own_and_a_resumed_run_takes_up_the_means(tmp_path: Path) -> None:
    straight, clips = with_hook(tmp_path / 'straight')
    assert len(clips) == len(straight.model.backbone.layers) == 2
    shares = straight.message_hub.get_scalar('train/clipped_blocks').data[0]
    assert len(shares) == 2 * STEPS_PER_EPOCH and shares[0] == 0 and shares.max() > 0
    checkpoint = str(tmp_path / 'straight/epoch_1.pth')
    resumed, others = with_hook(tmp_path / 'resumed', resume=True, load_from=checkpoint)
    assert all(torch.equal(clip.mean, other.mean) for clip, other in zip(clips, others, strict=True))
    torch.testing.assert_close(straight.model.state_dict(), resumed.model.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize('name', ['vit', 'dinov3', 'resnet'])
def test_blocks_of_other_libraries_are_found(name: str) -> None:
    model = SimpleNamespace(backbone=MODELS.build(MODELS_AND_WIDTHS[name][0]))
    if name == 'resnet':
        with pytest.raises(UserError, match=r'AdaptiveClipHook clips the blocks of .* this Torchvision\w+ does not'):
            AdaptiveClipHook().blocks_of(model)
    else:
        assert AdaptiveClipHook().blocks_of(model) == list(model.backbone.model.blocks)


def test_every_gradient_is_clipped_by_itself_before_the_step() -> None:
    long, short, zero, unused = (nn.Parameter(torch.zeros(2)) for _ in range(4))
    optimizer = torch.optim.SGD([long, short, zero, unused], lr=1.0)
    ParameterClipHook(max_norm=1.0).before_train(SimpleNamespace(optim_wrapper=SimpleNamespace(optimizer=optimizer)))
    long.grad, short.grad, zero.grad = torch.tensor([3.0, 4.0]), torch.tensor([0.3, 0.4]), torch.zeros(2)
    optimizer.step()
    expected = torch.tensor([[-0.6, -0.8], [-0.3, -0.4], [0, 0], [0, 0]])
    torch.testing.assert_close(torch.stack([long, short, zero, unused]).detach(), expected)
