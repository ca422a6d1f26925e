"""No step of any method waits for the GPU: on a device without values, each goes from the loader's crops to moved
targets."""

import copy
from collections.abc import Iterable, Iterator
from itertools import cycle
from typing import Any

import host_steps
import hosts
import pytest
import torch
from configuration.all_configs import CONFIGS
from mmengine.optim import OptimWrapper, build_optim_wrapper
from mmengine.registry import DefaultScope
from mmengine.runner import Runner
from waits import DEVICE, acting_as_gpu, nothing_waits

import mixcl.mixers
from mixcl.algorithms import Learner, PatchSamplingLearner, StepKey
from mixcl.recipes.paths import whole_model
from mixcl.recipes.prepared import prepared
from mixcl.registry import MIXERS, MODELS

BATCH = 6


def kinds() -> dict[tuple[str, ...], str]:
    """Name a config of every method, host and kind of backbone: of ImageNet, whose views are the richest, if any."""
    methods, found = {name.partition('/')[0] for name in CONFIGS}, {}
    for name in sorted(CONFIGS, key=lambda name: ('in1k' not in name, 'b16' in name)):
        folder, stem = name.split('/')
        backbone, *others = stem.split('_')
        found.setdefault((folder, backbone[0], *(part for part in others if part in methods)), name)
    return found


def long_unless(chosen: Iterable[str], names: Iterable[str]) -> list[Any]:
    """Mark the other names as long."""
    chosen = set(chosen)
    return [name if name in chosen else pytest.param(name, marks=pytest.mark.long) for name in names]


RECIPES = kinds()
ONE_OF_A_METHOD = {method: name for (method, *_), name in reversed(RECIPES.items())}

TERMS = {
    'mixed logarithms': hosts.moco_v3(hosts.MIXERS['cutmix']) | dict(objective=dict(type='LogMixture')),
    'hard negatives': hosts.moco_v3() | dict(objective=dict(type='InfoNCE', negatives=[dict(type='HardMix')])),
    'positives together': hosts.simclr(hosts.MIXERS['mixup'])
    | dict(objective=dict(type='InfoNCE', among='positives', negatives=['own'])),
    'a momentum per epoch': hosts.moco_v3() | dict(target=dict(type='EpochwiseEMA')),
}
GRID = host_steps.MODELS | TERMS
EACH_ONCE = [f'{host} with {mixer}' for host, mixer in zip(hosts.HOSTS, cycle(hosts.MIXERS), strict=False)]
SHORT = [*EACH_ONCE, *TERMS, 'a term between patches', 'aps', 'half of the patches']


@pytest.fixture(autouse=True)
def gpu() -> Iterator[None]:
    with acting_as_gpu():
        yield


def take_step(model: Learner, optim_wrapper: OptimWrapper, batch: dict) -> None:
    """Take a step on a batch of the host, as the train loop does."""
    with nothing_waits():
        model.begin_step(StepKey(seed=0, step=0, rank=0))
        if isinstance(model, PatchSamplingLearner) and 'photometry' in batch:
            batch = model.chunk(model.data_preprocessor.finish(batch), 0)
        model.train_step(batch, optim_wrapper)
        for taken in (True, torch.ones((), device=DEVICE)):
            model.end_step(0.5, 2, taken)


@pytest.mark.parametrize('name', long_unless(ONE_OF_A_METHOD.values(), RECIPES.values()))
def test_recipes(name: str) -> None:
    """From 8-bit crops and their programs, with the recipe's optimiser."""
    cfg = copy.deepcopy(prepared(CONFIGS[name], smoke=True))
    if cfg.model.backbone.get('depth', 18) != 18:
        cfg.model.backbone.depth = 18
        cfg.model.neck.in_channels = 512
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = MODELS.build(whole_model(cfg)).to(DEVICE).train()
        optim_wrapper = build_optim_wrapper(model, cfg.optim_wrapper)
        batch = next(iter(Runner.build_dataloader(cfg.train_dataloader, seed=0)))
    assert 'photometry' in batch and all(crops.dtype == torch.uint8 for crops in batch['inputs'])
    take_step(model, optim_wrapper, batch)


@pytest.mark.parametrize('name', long_unless(SHORT, GRID))
def test_hosts_and_mixers(name: str) -> None:
    """Terms between images and patches, masks, dropped patches, queues, joint streams; with clipped gradients."""
    preprocessor = dict(type='mixcl.ViewPreprocessor', mean=[0.0] * 3, std=[1.0] * 3)
    model = hosts.build(GRID[name], data_preprocessor=preprocessor)
    crops = [crop.float() for crop in hosts.crops(model, BATCH)]
    batch = dict(inputs=crops, data_samples=hosts.samples(model, BATCH))
    wrapper = dict(type='mixcl.OptimWrapper', optimizer=dict(type='AdamW', lr=0.1), clip_grad=dict(max_norm=1.0))
    model = model.to(DEVICE).train()
    take_step(model, build_optim_wrapper(model, wrapper), batch)


def test_every_mixer_is_tried() -> None:
    own = {name for name, mixer in MIXERS.module_dict.items() if mixer.__module__.startswith(mixcl.mixers.__name__)}
    assert own <= {mixer['type'] for mixer in hosts.MIXERS.values()}
