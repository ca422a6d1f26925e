"""Activation checkpointing changes what is kept, and nothing else."""

from pathlib import Path

import hosts
import pytest
import torch
from engine.tiny_runs import run_config, trained

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.step_cost import activation_bytes
from mixcl.randomness import seed_global_generators

BATCH = 8
CUTMIX = hosts.MIXERS['cutmix']
DROP_PATH = hosts.BACKBONES['vit'] | dict(drop_path_rate=0.5)
CASES = {
    'ViT': (hosts.moco_v3(CUTMIX), ['backbone.layers']),
    'ViT with drop path': (hosts.moco_v3(CUTMIX) | dict(backbone=DROP_PATH), ['backbone.layers']),
    'DINO': (hosts.dino(CUTMIX), ['backbone.layers', 'neck']),
    'stages of a ResNet': (hosts.simclr(CUTMIX, 'resnet'), ['backbone.layer1', 'backbone.layer2', 'backbone.layer3']),
    'a ResNet as a whole': (hosts.moco_v2(CUTMIX, 'resnet'), 'backbone'),
}


def step(name: str, checkpointed: bool) -> tuple[dict, dict, dict]:
    """Return losses, gradients and buffers of one training step."""
    config, parts = CASES[name]
    torch.manual_seed(0)
    learner = hosts.build(config).double()
    if checkpointed:
        checkpoint_activations(learner, parts)
    learner.begin_step(StepKey(0, 0, 0))
    seed_global_generators(0)
    outputs = learner(hosts.crops(learner, BATCH), mode='loss')
    learner.parse_losses(outputs)[0].backward()
    gradients = {key: p.grad for key, p in learner.named_parameters() if p.requires_grad}
    return {key: value.detach() for key, value in outputs.items()}, gradients, dict(learner.named_buffers())


@pytest.mark.parametrize('name', CASES)
def test_losses_gradients_and_running_statistics_stay_the_same(name: str) -> None:
    plain, checkpointed = step(name, False), step(name, True)
    torch.testing.assert_close(checkpointed, plain, rtol=0, atol=0)
    assert max(gradient.abs().max() for gradient in plain[1].values()) > 1e-3


@pytest.mark.parametrize('name', ['ViT', 'stages of a ResNet'])
def test_less_is_kept(name: str) -> None:
    config, parts = CASES[name]

    def kept(learner: ContrastiveLearner) -> int:
        crops = hosts.crops(learner, BATCH)
        return activation_bytes(learner, lambda: learner.parse_losses(learner(crops, mode='loss'))[0].backward())

    plain, checkpointed = hosts.build(config).double(), hosts.build(config).double()
    checkpoint_activations(checkpointed, parts)
    assert kept(checkpointed) < 0.6 * kept(plain)


def test_the_switch_in_a_run(tmp_path: Path) -> None:
    plain = trained(run_config(tmp_path / 'plain'))
    checkpointed = trained(run_config(tmp_path / 'checkpointed', activation_checkpointing=['backbone.layers']))
    assert all('forward' in vars(layer) for layer in checkpointed.model.backbone.layers)
    assert not any('forward' in vars(layer) for layer in plain.model.backbone.layers)
    torch.testing.assert_close(checkpointed.model.state_dict(), plain.model.state_dict(), rtol=0, atol=0)
