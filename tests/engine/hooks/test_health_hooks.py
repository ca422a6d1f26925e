"""What the log says of speed, chance level, collapse and stagnation."""

import math
import re
from dataclasses import replace
from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch.nn import functional

from mixcl.algorithms import StepKey
from mixcl.composition import Composition
from mixcl.engine import HealthHook
from mixcl.engine.hooks.health.first_term import FirstTerm, FirstTermListener, chance_level
from mixcl.engine.hooks.health.rules import RULES
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.evaluation.functional.quality import effective_rank
from mixcl.losses import DINODistillation, InfoNCE, NegativeCosine, Negatives

MOCO_TERMS = [('view1', 'view2', 1.0), ('view2', 'view1', 1.0)]


class ConstantOutput(Hook):
    """A backbone whose features are the same for all images, from the start."""

    def before_train(self, runner: Runner) -> None:
        runner.model.backbone.register_forward_hook(lambda module, inputs, outputs: [out * 0 + 1 for out in outputs])


class Reads(Hook):
    """How many losses the log knows after every step."""

    def __init__(self) -> None:
        self.lengths: list[int] = []

    def after_train_iter(self, runner: Runner, batch_idx: int, **kwargs) -> None:
        known = runner.message_hub.log_scalars.get('train/loss')
        self.lengths.append(0 if known is None else len(known.data[0]))


def scalars(runner: Runner, name: str) -> list[float]:
    return runner.message_hub.get_scalar(f'train/{name}').data[0].tolist()


def health(**arguments: object) -> dict:
    return dict(default_hooks__health=dict(type='HealthHook', **arguments))


def log_of(folder: Path) -> str:
    (log,) = folder.glob('*/*.log')
    return log.read_text()


def test_constant_features_are_told_within_patience(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path, **health(grace=2, patience=3)))
    runner.register_hook(ConstantOutput())
    runner.train()
    log = log_of(tmp_path)
    assert scalars(runner, 'feature_std') == pytest.approx([0] * 10, abs=1e-4)
    # Steps 3, 4 and 5 are the first three readings after the grace.
    assert log.count('step 5: the features of different images are nearly the same') == 1
    assert log.count('the features of different images') == 1, 'it is said once'
    assert re.search(r'step 5: the loss is \d{2,}% of what guessing gives', log)
    assert 'positive pairs are hardly more similar' in log


def test_the_run_stops_where_it_was_told_to(tmp_path: Path) -> None:
    runner = build_runner(run_config(tmp_path, **health(grace=0, patience=2, abort=['collapse'])))
    runner.register_hook(ConstantOutput())
    with pytest.raises(UserError, match=r"step 2: .*stopped, as HealthHook's abort=\['collapse'\] says"):
        runner.train()


def test_a_healthy_run_is_left_in_peace(tmp_path: Path) -> None:
    runner = trained(run_config(tmp_path, **health(grace=0, patience=1)))
    log = log_of(tmp_path)
    assert 'the gradient is' not in log and 'nearly the same' not in log
    assert scalars(runner, 'chance_level') == pytest.approx([math.log(8)] * 10)
    assert all(0 < norm < 1000 for norm in scalars(runner, 'gradient_norm')), scalars(runner, 'gradient_norm')


def batch(rows: int = 6, channels: int = 5) -> tuple[torch.Tensor, torch.Tensor, object]:
    generator = torch.Generator().manual_seed(0)
    queries, keys = (functional.normalize(torch.randn(rows, channels, generator=generator), dim=1) for _ in range(2))
    views = Composition.identity(rows)
    return queries, keys, views.target(views)


def test_chance_levels() -> None:
    queries, keys, target = batch()
    queue = [Negatives(functional.normalize(torch.randn(10, 5), dim=1))]
    assert chance_level(InfoNCE(), queries, keys, target, []) == pytest.approx(math.log(6))
    assert chance_level(InfoNCE(temperature_scale=2), queries, keys, target, []) == pytest.approx(0.4 * math.log(6))
    assert chance_level(InfoNCE(), queries, keys, target, queue) == pytest.approx(math.log(16))
    itself = chance_level(InfoNCE(among='itself', negatives=['own']), queries, keys, target, queue)
    assert itself == pytest.approx(math.log(11))
    kept = [Negatives(queue[0].vectors, torch.arange(10).expand(6, 10) < 4)]
    assert chance_level(InfoNCE(), queries, keys, target, kept) == pytest.approx(math.log(10))
    assert chance_level(NegativeCosine(), queries, keys, target, []) is None
    prototypes = torch.rand(6, 32).softmax(dim=1)
    assert chance_level(DINODistillation(32), prototypes, prototypes, target, []) == pytest.approx(math.log(32))


# ----- the representation -----

NAMES = {'alignment', 'query_uniformity', 'key_uniformity', 'effective_rank'}


def heard(**changes) -> FirstTerm:
    torch.manual_seed(0)
    model = tiny.build(**changes)
    model.begin_step(StepKey(0, 0, 0))
    listener = FirstTermListener(model)
    listener.listen()
    model.loss([torch.randn(6, 3, 8, 8) for _ in range(2)])
    return listener.heard


@pytest.mark.parametrize(
    ('shared', 'changes'),
    [(1, {}), (3, dict(terms=[('mix2', 'view1', 1.0)], streams=dict(mix2=dict(mix='view2'))))],
    ids=['views', 'mixtures'],
)
def test_pairs_are_measured_by_their_shares(shared: int, changes: dict) -> None:
    term = heard(**changes)
    assert term.queries.shape == term.keys.shape == (6, 12) and term.features.shape == (6, 16)
    assert not any(tensor.requires_grad for tensor in (term.queries, term.keys, term.features))
    distances = torch.cdist(term.queries, term.keys, compute_mode='donot_use_mm_for_euclid_dist').square()
    target = term.target.dense(len(term.keys))
    assert (target > 0).sum(dim=1).tolist() == [shared] * 6
    readings = term.readings()
    positives, others = term.queries @ term.keys.T, target == 0
    gap = (target * positives).sum(dim=1).mean() - positives[others].mean()
    assert readings['similarity_gap'].item() == pytest.approx(gap.item(), rel=1e-4)
    assert readings['alignment'].item() == pytest.approx((target * distances).sum(dim=1).mean().item(), rel=1e-4)
    potential = torch.pdist(term.queries).square().mul(-2).exp().mean().log()
    assert readings['query_uniformity'].item() == pytest.approx(potential.item(), rel=1e-4)
    assert readings['effective_rank'] == effective_rank(term.features)


def test_a_collapse_shows() -> None:
    term = heard()
    flat = functional.normalize(torch.ones_like(term.queries), dim=1)
    collapsed = replace(term, features=torch.ones_like(term.features), queries=flat, keys=flat).readings()
    assert collapsed['effective_rank'].item() == pytest.approx(1, abs=1e-4)
    assert [collapsed[name].item() for name in NAMES - {'effective_rank'}] == pytest.approx([0] * 3, abs=1e-5)


def test_training_is_the_same_to_the_bit_with_and_without_the_hook(tmp_path: Path) -> None:
    runners = []
    for name in ('with', 'without'):
        cfg = run_config(tmp_path / name)
        if name == 'without':
            cfg.default_hooks.pop('health')
        runners.append(trained(cfg))
    assert scalars(runners[0], 'loss') == scalars(runners[1], 'loss')
    states = [runner.model.state_dict() for runner in runners]
    assert all(torch.equal(states[0][name], states[1][name]) for name in states[0])


@pytest.mark.parametrize(
    'changes',
    [
        dict(objective=dict(type='NegativeCosine'), terms=MOCO_TERMS, mixer=None, streams={}),
        dict(
            neck=dict(type='DINOHead', in_channels=16, out_channels=32, hidden_channels=16, bottleneck_channels=8),
            predictor=None, objective=dict(type='DINODistillation', num_prototypes=32),
            terms=MOCO_TERMS, mixer=None, streams={},
        ),
    ],
)  # fmt: skip
def test_other_objectives_are_listened_to(tmp_path: Path, changes: dict) -> None:
    cfg = run_config(tmp_path)
    cfg.model = tiny.model_config(**changes)
    runner = trained(cfg)
    logged, kind = runner.message_hub.log_scalars, changes['objective']['type']
    assert len(scalars(runner, 'effective_rank')) == 10
    assert ('train/similarity_gap' in logged) == ('train/alignment' in logged) == (kind != 'DINODistillation')
    if kind == 'DINODistillation':
        assert scalars(runner, 'chance_level') == pytest.approx([math.log(32)] * 10)
        assert runner.model.objective.teacher_temperature == pytest.approx(0.04 + 0.03 / 29)  # of the second epoch


def test_values_are_read_when_a_line_is_due_and_none_is_lost(tmp_path: Path) -> None:
    every_step = trained(run_config(tmp_path / 'every_step'))
    runner = build_runner(run_config(tmp_path / 'deferred', default_hooks__logger__interval=3))
    reads = Reads()
    runner.register_hook(reads)
    runner.train()
    # Lines after steps 3 and 5 of an epoch of five; only these are measured.
    assert all(len(scalars(runner, name)) == 2 * 2 for name in NAMES)
    assert reads.lengths == [0, 0, 3, 3, 5, 5, 5, 8, 8, 10]
    for name in ('loss', 'feature_std', 'loss_view1_view2', 'gradient_norm'):
        assert scalars(runner, name) == scalars(every_step, name)
        assert len(scalars(runner, name)) == 2 * STEPS_PER_EPOCH


def test_a_checkpoint_has_the_whole_history(tmp_path: Path) -> None:
    checkpoints = dict(interval=3, by_epoch=False, max_keep_ckpts=5)
    options = {f'default_hooks__checkpoint__{name}': value for name, value in checkpoints.items()}
    trained(run_config(tmp_path, default_hooks__logger__interval=5, **options))
    stored = torch.load(tmp_path / 'iter_3.pth', weights_only=True)['message_hub']['log_scalars']['train/loss']
    assert len(stored['values']) == 3


def test_speed_is_in_every_line(tmp_path: Path) -> None:
    runner = trained(run_config(tmp_path, default_hooks__logger__interval=2))
    lines = [line for line in log_of(tmp_path).splitlines() if 'Epoch(train)' in line]
    assert len(lines) == 2 * 2
    assert all('images_per_second: ' in line and 'data_wait: ' in line for line in lines)
    times = scalars(runner, 'time')
    assert scalars(runner, 'images_per_second')[0] == pytest.approx(8 / (sum(times[:2]) / 2), rel=1e-6)
    assert all(0 <= share <= 1 for share in scalars(runner, 'data_wait'))


def test_a_spike_is_told_by_the_median() -> None:
    hook, (rule,) = HealthHook(), [rule for rule in RULES if rule.name == 'spike']
    assert not any(rule.broken_by(hook._compared(1.0)) for _ in range(10))
    assert not rule.broken_by(hook._compared(19.0)) and rule.broken_by(hook._compared(21.0))


@pytest.mark.parametrize('arguments', [dict(abort=['colapse']), dict(abort='chance'), dict(grace=-1), dict(patience=0)])
def test_values_out_of_range(arguments: dict) -> None:
    with pytest.raises(UserError, match=f'HealthHook: .*{next(iter(arguments))}'):
        HealthHook(**arguments)
