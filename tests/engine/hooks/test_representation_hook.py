"""Measures of the representation in the pretraining log."""

import json
from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from torch import Tensor
from torch.nn.functional import normalize

from mixcl.algorithms import StepKey
from mixcl.algorithms.step_outputs import StepOutputs
from mixcl.engine.hooks.representation_hook import measures
from mixcl.evaluation.functional.quality import effective_rank, uniformity

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
    monkeypatch.setattr('mixcl.engine.hooks.representation_hook.measures', lambda outputs: calls.append(outputs) or {})
    runner = trained(run_config(tmp_path, default_hooks__logger__interval=3))
    # Steps 3 of 5, and the last of the epoch, which a log with a longer interval than the epoch shows.
    assert len(calls) == 2 * 2
    assert runner.model.observers == []


def test_an_epoch_shorter_than_the_interval_is_measured_once(tmp_path: Path) -> None:
    trained(run_config(tmp_path, default_hooks__logger__interval=50))
    lines = log_lines(tmp_path)
    assert len(lines) == 2 and all(set(line) >= NAMES for line in lines)


def test_a_model_of_another_kind_is_left_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('mixcl.engine.hooks.representation_hook.ContrastiveLearner', type('Other', (), {}))
    trained(run_config(tmp_path))
    assert not any(NAMES & set(line) for line in log_lines(tmp_path))


def reported(**changes) -> tuple[StepOutputs, torch.nn.Module]:
    torch.manual_seed(0)
    model = tiny.build(**changes)
    model.begin_step(StepKey(0, 0, 0))
    reports: list[StepOutputs] = []
    model.observers.append(reports.append)
    model.loss([torch.randn(6, 3, 8, 8) for _ in range(2)])
    (report,) = reports
    return report, model


def test_views_are_measured_by_their_pairs() -> None:
    report, _ = reported()
    values = measures(report)
    distances = (normalize(report.queries, dim=1) - normalize(report.keys, dim=1)).square().sum(dim=1)
    assert values['alignment'].item() == pytest.approx(distances.mean().item(), rel=1e-5)
    assert values['query_uniformity'].item() == pytest.approx(uniformity(report.queries).item(), rel=1e-5)
    assert values['key_uniformity'].item() == pytest.approx(uniformity(report.keys).item(), rel=1e-5)
    assert values['effective_rank'] == effective_rank(report.features)
    assert report.queries.shape == report.keys.shape == (6, 12) and report.features.shape == (6, 16)
    assert not any(tensor.requires_grad for tensor in (report.features, report.queries, report.keys))


def test_mixtures_are_measured_by_their_shares() -> None:
    report, _ = reported(terms=[('mix2', 'view1', 1.0)], streams=dict(mix2=dict(mix='view2')))
    queries, keys = normalize(report.queries, dim=1), normalize(report.keys, dim=1)
    distances = torch.cdist(queries, keys, compute_mode='donot_use_mm_for_euclid_dist').square()
    target = report.target.dense(len(keys))
    assert (target > 0).sum(dim=1).tolist() == [3] * 6
    expected = (target * distances).sum(dim=1).mean()
    assert measures(report)['alignment'].item() == pytest.approx(expected.item(), rel=1e-4)


def test_a_collapse_and_a_divergence_show() -> None:
    report, _ = reported()
    flat = [torch.ones_like(tensor) for tensor in (report.features, report.queries, report.keys)]
    values = measures(StepOutputs(*flat, report.target))
    assert values['effective_rank'].item() == pytest.approx(1, abs=1e-4)
    for name in ('alignment', 'query_uniformity', 'key_uniformity'):
        assert values[name].item() == pytest.approx(0, abs=1e-5)
    broken = [tensor * torch.nan for tensor in flat]
    assert all(value.isnan() for value in measures(StepOutputs(*broken, report.target)).values())
