"""A GPU computes what the CPU does: losses, gradients, views; and compiled blocks what eager ones do."""

import copy

import pytest
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from torch import Tensor, nn

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.engine.runners.compiling import compile_blocks
from mixcl.recipes.prepared import prepared
from mixcl.registry import MODELS
from tools.benchmark.synthetic import SyntheticIteration

pytestmark = pytest.mark.gpu

FAMILIES = [
    *('patchmix/vit-s16_in1k', 'simclr/r50_in1k', 'mocov2/r50_in1k', 'byol/r50_in1k', 'simsiam/r50_in1k'),
    *('dino/vit-s16_in1k', 'ibot/vit-s16_in1k'),
]
MOST_ROUNDING = 1e-3
"""Largest deviation, relative to the CPU in float64, that passes for rounding."""


@pytest.fixture
def small_config(request: pytest.FixtureRequest) -> Config:
    """Return the config that the parameter names, at the size of ``--smoke``."""
    return copy.deepcopy(prepared(f'configs/{request.param}.py', smoke=True))


@pytest.fixture
def step(small_config: Config) -> tuple[ContrastiveLearner, list[Tensor]]:
    return small_step(small_config)


def small_step(cfg: Config, drop_path: bool = False) -> tuple[ContrastiveLearner, list[Tensor]]:
    """Build a small model on the CPU, with the views of a batch; drop path draws random numbers on the device."""
    backbone = cfg.model.backbone
    if not drop_path:
        backbone.pop('drop_path_rate', None)
    # The CPU computes in double precision: half as wide a transformer, a quarter as wide a ResNet.
    if 'depth' in backbone:  # rounding grows with every layer and its batch statistics
        backbone.update(depth=18, stem_channels=16, base_channels=16)
        cfg.model.neck.in_channels = 128
    else:
        backbone.arch.update(embed_dims=192, num_heads=3, feedforward_channels=768)
        cfg.model.neck.in_channels = 192
    torch.manual_seed(0)
    iteration = SyntheticIteration(cfg, 8)
    model = iteration.model
    model.init_weights()
    for parameter in model.parameters():  # losses of equal encoders are nearly zero, and so mere rounding
        parameter.data += 0.02 * torch.randn_like(parameter)
    make_smooth(model)
    return model, model.data_preprocessor(iteration.batch)['inputs']


def make_smooth(model: nn.Module) -> None:
    """Replace ReLU and the largest of neighbours, whose gradients jump where rounding turns a sign or an order."""
    for module in [*model.modules()]:
        for name, child in module.named_children():
            if isinstance(child, nn.ReLU):
                setattr(module, name, nn.Softplus())
            elif isinstance(child, nn.MaxPool2d):
                setattr(module, name, nn.AvgPool2d(child.stride))  # with padding, torch 2.11's gradients are wrong


def losses_and_gradients(
    step: tuple[ContrastiveLearner, list[Tensor]], device: str, dtype: torch.dtype, amp: bool = False
) -> tuple[Tensor, Tensor]:
    """Return the losses of a copy of the model, and its gradients as one vector, float64 on the CPU."""
    model, crops = step
    copied = copy.deepcopy(model).to(device, dtype)
    copied.begin_step(StepKey(0, 0, 0))
    torch.manual_seed(0)
    with torch.autocast(device, torch.bfloat16, enabled=amp):
        terms = copied([crop.to(device, dtype) for crop in crops], mode='loss')
    loss, _ = copied.parse_losses(terms)
    loss.backward()
    losses = torch.stack([value.detach() for name, value in terms.items() if 'loss' in name])
    gradients = torch.cat([p.grad.flatten() for p in copied.parameters() if p.grad is not None])
    return losses.double().cpu(), gradients.double().cpu()


def deviation(found: Tensor, expected: Tensor) -> float:
    return float((found - expected).norm() / expected.norm())


@pytest.mark.parametrize('small_config', FAMILIES, indirect=True)
def test_losses_and_gradients_are_those_of_the_cpu(step: tuple[ContrastiveLearner, list[Tensor]], device: str) -> None:
    """A device may be three times as far from float64 on the CPU as float32 on the CPU is, within 1e-5 to 1e-3."""
    exact, on_cpu = (losses_and_gradients(step, 'cpu', dtype) for dtype in (torch.float64, torch.float32))
    found = losses_and_gradients(step, device, torch.float32)
    for ours, reference, theirs in zip(found, exact, on_cpu, strict=True):
        limit = max(1e-5, min(3 * deviation(theirs, reference), MOST_ROUNDING))
        assert deviation(ours, reference) <= limit
    in_bf16, _ = losses_and_gradients(step, device, torch.float32, amp=True)
    assert (in_bf16 - exact[0]).norm() <= 2e-2 * exact[0].norm().clamp(min=1)  # a cosine may be nearly zero


@pytest.mark.parametrize('small_config', ['patchmix/vit-s16_in1k', 'mocov2/r50_in1k'], indirect=True)
@pytest.mark.parametrize(('amp', 'limit'), [(False, 1e-4), (True, 0.2)])
def test_compiled_blocks_compute_what_eager_ones_do(small_config: Config, device: str, amp: bool, limit: float) -> None:
    step = small_step(small_config, drop_path=True)
    eager = losses_and_gradients(step, device, torch.float32, amp)
    compile_blocks(step[0], True)
    losses, gradients = losses_and_gradients(step, device, torch.float32, amp)
    assert deviation(losses, eager[0]) <= limit / 10
    assert deviation(gradients, eager[1]) <= limit


@pytest.mark.parametrize('small_config', ['patchmix/vit-s16_in1k', 'dino/vit-s16_in1k'], indirect=True)
def test_views_of_a_batch_are_those_of_single_images_on_the_cpu(small_config: Config, device: str) -> None:
    """The CPU runs the GPU's code here, which it does for crops in floating point."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        batch = next(iter(Runner.build_dataloader(small_config.train_dataloader, seed=0)))
        preprocessor = MODELS.build(small_config.data_preprocessor)
    crops, programs = [crop.float() for crop in batch['inputs']], batch['photometry']
    expected = [
        preprocessor(dict(inputs=[crop[i : i + 1] for crop in crops], photometry=programs[i : i + 1]))['inputs']
        for i in range(len(programs))
    ]
    given = dict(batch) if device == 'cuda' else dict(batch, inputs=crops)
    found = copy.deepcopy(preprocessor).to(device)(given)['inputs']
    off = [
        ((torch.cat(singles) - view.cpu()) * preprocessor.std.cpu()).abs().flatten() > 2.5
        for singles, view in zip(zip(*expected, strict=True), found, strict=True)
    ]
    assert torch.cat(off).double().mean() <= 1e-3  # share of the values more than 2 of 255 levels off
