"""Measures of the representation in the pretraining log."""

import json
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from torch import Tensor

from mixcl.algorithms import StepKey
from mixcl.engine.hooks.health.first_term import FirstTermListener
from mixcl.engine.hooks.representation_hook import measures
from mixcl.evaluation.functional.quality import effective_rank

NAMES = {'alignment', 'query_uniformity', 'key_uniformity', 'effective_rank'}


def log_lines(work_dir: Path) -> list[dict]:
    (log,) = work_dir.glob('*/vis_data/scalars.json')
    return [json.loads(line) for line in log.read_text().splitlines()]


def without_hook(cfg):
    cfg.default_hooks.pop('representation')
    return cfg


def test_the_configs_log_it_at_every_line(tmp_path: Path) -> None:
    trained(run_config(tmp_path, default_hooks__logger__interval=2))
    lines = log_lines(tmp_path)
    assert len(lines) == 2 * (STEPS_PER_EPOCH // 2)
    assert all(set(line) >= NAMES for line in lines)
    assert not any('loss' in name for name in NAMES)
    for line in lines:
        assert 0 < line['alignment'] < 4
        assert line['query_uniformity'] < 0 and line['key_uniformity'] < 0
        assert 1 < line['effective_rank'] <= 8
    assert len({line['alignment'] for line in lines}) == len(lines)


@pytest.mark.parametrize('accumulative_counts', [1, 2])
def test_training_is_the_same_to_the_bit_with_and_without(tmp_path: Path, accumulative_counts: int) -> None:
    def run(folder: str, prepare) -> tuple[list[float], dict[str, Tensor]]:
        settings = dict(optim_wrapper__accumulative_counts=accumulative_counts)
        runner = trained(prepare(run_config(tmp_path / folder, **settings)))
        return [line['loss'] for line in log_lines(tmp_path / folder)], runner.model.state_dict()

    losses, weights = run('with', lambda cfg: cfg)
    other_losses, other_weights = run('without', without_hook)
    assert losses == other_losses
    assert all(torch.equal(weights[name], other_weights[name]) for name in weights)


def test_only_steps_that_the_log_shows_are_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    monkeypatch.setattr('mixcl.engine.hooks.representation_hook.measures', lambda *inputs: calls.append(inputs) or {})
    trained(run_config(tmp_path, default_hooks__logger__interval=3))
    # Steps 3 of 5, and the last of the epoch, which a log with a longer interval than the epoch shows.
    assert len(calls) == 2 * 2


def test_an_epoch_shorter_than_the_interval_is_measured_once(tmp_path: Path) -> None:
    trained(run_config(tmp_path, default_hooks__logger__interval=50))
    lines = log_lines(tmp_path)
    assert len(lines) == 2 and all(set(line) >= NAMES for line in lines)


def heard(**changes) -> FirstTermListener:
    torch.manual_seed(0)
    model = tiny.build(**changes)
    model.begin_step(StepKey(0, 0, 0))
    listener = FirstTermListener(model)
    listener.listen()
    model.loss([torch.randn(6, 3, 8, 8) for _ in range(2)])
    return listener


@pytest.mark.parametrize(
    ('shared', 'changes'),
    [(1, {}), (3, dict(terms=[('mix2', 'view1', 1.0)], streams=dict(mix2=dict(mix='view2'))))],
    ids=['views', 'mixtures'],
)
def test_pairs_are_measured_by_their_shares(shared: int, changes: dict) -> None:
    listener = heard(**changes)
    term = listener.heard
    assert term.queries.shape == term.keys.shape == (6, 12) and listener.features.shape == (6, 16)
    assert not any(tensor.requires_grad for tensor in (term.queries, term.keys, listener.features))
    distances = torch.cdist(term.queries, term.keys, compute_mode='donot_use_mm_for_euclid_dist').square()
    target = term.target.dense(len(term.keys))
    assert (target > 0).sum(dim=1).tolist() == [shared] * 6
    values = measures(term, listener.features)
    assert values['alignment'].item() == pytest.approx((target * distances).sum(dim=1).mean().item(), rel=1e-4)
    potential = torch.pdist(term.queries).square().mul(-2).exp().mean().log()
    assert values['query_uniformity'].item() == pytest.approx(potential.item(), rel=1e-5)
    assert values['effective_rank'] == effective_rank(listener.features)


def test_a_collapse_and_a_divergence_show() -> None:
    listener = heard()
    term, features = listener.heard, torch.ones_like(listener.features)
    flat = torch.nn.functional.normalize(torch.ones_like(term.queries), dim=1)
    values = measures(replace(term, queries=flat, keys=flat), features)
    assert values['effective_rank'].item() == pytest.approx(1, abs=1e-4)
    for name in NAMES - {'effective_rank'}:
        assert values[name].item() == pytest.approx(0, abs=1e-5)
    broken = measures(replace(term, queries=flat * torch.nan, keys=flat * torch.nan), features * torch.nan)
    assert all(value.isnan() for value in broken.values())


def test_features_of_other_objectives_are_measured_alone() -> None:
    listener = heard(
        neck=dict(type='DINOHead', in_channels=16, out_channels=32, hidden_channels=16, bottleneck_channels=8),
        predictor=None,
        objective=dict(type='DINODistillation', num_prototypes=32),
    )
    assert set(measures(listener.heard, listener.features)) == {'effective_rank'}
