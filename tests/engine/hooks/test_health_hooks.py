"""What the log says about chance level, collapse and stagnation."""

import math
import re
from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, scalars, trained
from mmengine.runner import Runner
from torch.nn import functional

from mixcl.algorithms import StepKey
from mixcl.composition import Composition
from mixcl.engine import HealthHook
from mixcl.engine.hooks.health import health_hook, step_log
from mixcl.engine.hooks.health.first_term import chance_level, readings
from mixcl.engine.runners.launch import build_runner
from mixcl.feature_statistics import effective_rank
from mixcl.losses import DINODistillation, InfoNCE, NegativeCosine, Negatives


def collapsed(folder: Path, **arguments: object) -> Runner:
    """Return a run whose backbone gives the same features for all images, from the start."""
    runner = build_runner(run_config(folder, default_hooks__health=dict(type='HealthHook', **arguments)))
    runner.model.backbone.register_forward_hook(lambda module, inputs, outputs: [out * 0 + 1 for out in outputs])
    return runner


def log_of(folder: Path) -> str:
    (log,) = folder.glob('*/*.log')
    return log.read_text()


# ----- warnings -----


def test_constant_features_are_told_within_patience(tmp_path: Path) -> None:
    runner = collapsed(tmp_path, grace=2, patience=3)
    runner.train()
    log = log_of(tmp_path)
    assert scalars(runner, 'feature_std') == pytest.approx([0] * 10, abs=1e-4)
    # Steps 3, 4 and 5 are the first three readings after the grace period.
    assert log.count('step 5: the features of different images are nearly the same') == 1
    assert log.count('the features of different images') == 1, 'it is said once'
    assert re.search(r'step 5: the loss is \d{2,}% of what guessing gives', log)
    assert 'positive pairs are hardly more similar' in log


def test_a_healthy_run_is_left_in_peace_to_the_bit(tmp_path: Path) -> None:
    watched = trained(run_config(tmp_path / 'with', default_hooks__health=dict(type='HealthHook', grace=0, patience=1)))
    log = log_of(tmp_path / 'with')
    assert 'the gradient is' not in log and 'nearly the same' not in log
    assert scalars(watched, 'chance_level') == pytest.approx([math.log(8)] * 10)
    assert all(0 < norm < 1000 for norm in scalars(watched, 'gradient_norm'))
    cfg = run_config(tmp_path / 'without')
    cfg.default_hooks.pop('health')
    runner = trained(cfg)
    assert scalars(runner, 'loss') == scalars(watched, 'loss')
    torch.testing.assert_close(runner.model.state_dict(), watched.model.state_dict(), rtol=0, atol=0)


@pytest.mark.parametrize(('gap', 'told'), [(0.16, False), (0.03, True)])
def test_a_high_temperature_is_no_guessing(
    gap: float, told: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Of APS on digits at a temperature of 1, whose 1-NN had 92%.
    found = dict(chance_ratio=torch.tensor(0.987), similarity_gap=torch.tensor(gap))
    monkeypatch.setattr(health_hook, 'readings', lambda *_, **__: found)
    trained(run_config(tmp_path, default_hooks__health=dict(type='HealthHook', grace=0, patience=1)))
    assert ('of what guessing gives' in log_of(tmp_path)) == told


def test_a_spike_is_told_by_the_median(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    norms = iter([1.0] * 10 + [19.0, 21.0] + [1.0] * 3)
    monkeypatch.setattr(health_hook, 'readings', lambda *_, **__: dict(gradient_norm=torch.tensor(next(norms))))
    trained(run_config(tmp_path, default_hooks__health=dict(type='HealthHook', grace=0), train_cfg__max_epochs=3))
    assert re.findall(r'step (\d+): the gradient is (\d+) times', log_of(tmp_path)) == [('12', '21')]


# ----- the first term -----


def test_chance_levels() -> None:
    queries, keys, more = (functional.normalize(torch.randn(rows, 5), dim=1) for rows in (6, 6, 10))
    views = Composition.identity(6)
    target, queue = views.target(views), [Negatives(more)]
    itself = InfoNCE(among='itself', negatives=['own'])
    assert chance_level(InfoNCE(), queries, keys, target) == pytest.approx(math.log(6))
    assert chance_level(InfoNCE(temperature_scale=2), queries, keys, target) == pytest.approx(0.4 * math.log(6))
    assert chance_level(InfoNCE(), queries, keys, target, queue) == pytest.approx(math.log(16))
    assert chance_level(itself, queries, keys, target, queue) == pytest.approx(math.log(11))
    kept = [Negatives(more, torch.arange(10).expand(6, 10) < 4)]
    assert chance_level(InfoNCE(), queries, keys, target, kept) == pytest.approx(math.log(10))
    prototypes = torch.rand(6, 32).softmax(dim=1)
    assert chance_level(DINODistillation(32), prototypes, prototypes, target) == pytest.approx(math.log(32))


def listened(**changes) -> HealthHook:
    torch.manual_seed(0)
    model = tiny.build(**changes)
    model.begin_step(StepKey(0, 0, 0))
    hook = HealthHook()
    hook.watch(model)
    hook.listen()
    model.loss([torch.randn(6, 3, 8, 8) for _ in range(2)])
    return hook


@pytest.mark.parametrize(
    ('shared', 'changes'),
    [(1, {}), (3, dict(terms=[('mix2', 'view1', 1.0)], streams=dict(mix2=dict(mix='view2'))))],
    ids=['views', 'mixtures'],
)
def test_pairs_are_measured_by_their_shares(shared: int, changes: dict) -> None:
    hook = listened(**changes)
    objective, features, embeddings, rows, queries, keys, target, *_ = hook.first_term.args
    assert queries.shape == keys.shape == (6, 12) and features.shape == (6, 16)
    assert not any(tensor.requires_grad for tensor in (queries, keys, features))
    found, dense = hook.first_term(), target.dense(len(keys))
    assert (dense > 0).sum(dim=1).tolist() == [shared] * 6
    cosines, distances = queries @ keys.T, torch.cdist(queries, keys).square()
    expected = dict(
        similarity_gap=(dense * cosines).sum(dim=1).mean() - cosines[dense == 0].mean(),
        alignment=(dense * distances).sum(dim=1).mean(),
        query_uniformity=torch.pdist(queries).square().mul(-2).exp().mean().log(),
        key_uniformity=torch.pdist(keys).square().mul(-2).exp().mean().log(),
        effective_rank=effective_rank(features),
        rankme=effective_rank(embeddings),
    )

    def numbers(measures: dict) -> dict[str, float]:
        return {name: measures[name].item() for name in expected}

    assert numbers(found) == pytest.approx(numbers(expected), rel=1e-4)
    flat = functional.normalize(torch.ones_like(queries), dim=1)
    collapse = readings(objective, torch.ones_like(features), torch.ones_like(embeddings), rows, flat, flat, target)
    assert numbers(collapse) == pytest.approx(dict.fromkeys(expected, 0) | dict(effective_rank=1, rankme=1), abs=1e-4)


def test_other_objectives_are_listened_to() -> None:
    plain = dict(terms=[('view1', 'view2', 1.0), ('view2', 'view1', 1.0)], mixer=None, streams={})
    head = dict(type='DINOHead', in_channels=16, out_channels=32, hidden_channels=16, bottleneck_channels=8)
    dino = dict(type='DINODistillation', num_prototypes=32)
    found = listened(**plain, neck=head, predictor=None, objective=dino).first_term()
    assert {'effective_rank', 'chance_level'} <= set(found)
    cosine = listened(**plain, objective=dict(type='NegativeCosine')).first_term()
    assert {'effective_rank', 'similarity_gap'} <= set(cosine) and 'chance_level' not in cosine
    assert chance_level(NegativeCosine(), *[torch.zeros(1, 1)] * 2, None) is None


# ----- what is logged, and when -----


def test_values_are_read_when_a_line_is_due_and_none_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    every_step = trained(run_config(tmp_path / 'every_step'))
    monkeypatch.setattr(step_log, 'on_cpu', lambda outputs: False)
    saved = dict(default_hooks__checkpoint__by_epoch=False, default_hooks__checkpoint__interval=4)
    runner = build_runner(run_config(tmp_path / 'deferred', default_hooks__logger__interval=3, **saved))
    known, lengths = runner.message_hub.log_scalars, []
    runner.model.register_forward_hook(
        lambda *_: lengths.append(len(known['train/loss'].data[0]) if 'train/loss' in known else 0)
    )
    runner.train()
    # Lines are due after steps 3 and 5 of an epoch of five; only these steps are measured.
    assert len(scalars(runner, 'effective_rank')) == 2 * 2
    assert lengths == [0, 0, 0, 3, 4, 5, 5, 5, 8, 8], 'at the start of every step'
    stored = torch.load(tmp_path / 'deferred/iter_8.pth', weights_only=True)['message_hub']['log_scalars']
    assert len(stored['train/loss']['values']) == 8, 'a checkpoint has the whole history'
    for name in ('loss', 'feature_std', 'loss_view1_view2', 'gradient_norm'):
        assert scalars(runner, name) == scalars(every_step, name)
        assert len(scalars(runner, name)) == 2 * STEPS_PER_EPOCH


def test_of_a_long_run_the_last_values_are_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = trained(run_config(tmp_path / 'whole'))
    monkeypatch.setattr(step_log, 'HISTORY', 2)  # an epoch is longer
    last = trained(run_config(tmp_path / 'last'))
    for name in ('loss', 'lr', 'weight_decay'):
        assert scalars(last, name) == scalars(whole, name)[-STEPS_PER_EPOCH:]
