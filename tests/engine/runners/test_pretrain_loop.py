"""Short real runs: accumulated gradients, what happens once per optimiser step, what is logged and refused."""

import json
from pathlib import Path

import pytest
import tiny
import torch
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, scalars, trained
from mmengine.runner import Runner
from torch import Tensor
from watching import WatchingHook

from mixcl.algorithms import StepKey
from mixcl.engine.runners.launch import build_runner
from mixcl.errors import UserError
from mixcl.randomness import seed_global_generators

RATE, MOMENTUM, COUNT = 0.1, 0.9, 2
STEPS = 2 * STEPS_PER_EPOCH
TARGET = dict(type='EMA', momentum=MOMENTUM, final_momentum=MOMENTUM)


class Witness(WatchingHook):
    """A record of the weights before every iteration, and of the batch as the model sees it."""

    def before_train(self, runner: Runner) -> None:
        self.weights: list[dict[str, Tensor]] = []
        self.batches: list[list[Tensor]] = []
        self.rates: list[float] = []
        self.epochs: list[int] = []
        model = runner.model
        model.objective.begin_step = self.epochs.append
        model.register_forward_pre_hook(lambda _, args, kwargs: self.batches.append(kwargs['inputs']), with_kwargs=True)

    def before_train_iter(self, runner: Runner, **kwargs) -> None:
        self.weights.append({name: value.clone() for name, value in runner.model.state_dict().items()})
        self.rates.append(runner.optim_wrapper.param_groups[0]['lr'])

    def after_train(self, runner: Runner) -> None:
        self.weights.append({name: value.clone() for name, value in runner.model.state_dict().items()})


@pytest.fixture(scope='module')
def run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Runner, Witness]:
    cfg = run_config(tmp_path_factory.mktemp('accumulated'), model__target=TARGET)
    cfg.optim_wrapper = dict(optimizer=dict(type='SGD', lr=RATE), accumulative_counts=COUNT)
    witness, runner = Witness(), build_runner(cfg)
    runner.register_hook(witness)
    runner.train()
    return runner, witness


def gradients(witness: Witness, seed: int, step: int) -> dict[str, Tensor]:
    """Return the gradients of one micro-batch in a model without accumulation."""
    learner = tiny.build(target=TARGET)
    learner.load_state_dict(witness.weights[step])
    key = StepKey(seed, step, 0)
    learner.begin_step(key)
    seed_global_generators(*key)
    learner.parse_losses(learner(witness.batches[step], mode='loss'))[0].backward()
    return {name: p.grad for name, p in learner.named_parameters() if p.grad is not None}


def changed(before: dict[str, Tensor], after: dict[str, Tensor]) -> bool:
    return not torch.equal(before['backbone.layers.0.attn.qkv.weight'], after['backbone.layers.0.attn.qkv.weight'])


def test_the_step_is_the_mean_of_the_gradients_of_the_micro_batches(run: tuple[Runner, Witness]) -> None:
    runner, witness = run
    for first in (2, 6):
        parts = [gradients(witness, runner.seed, step) for step in range(first, first + COUNT)]
        before, after, rate = witness.weights[first], witness.weights[first + COUNT], witness.rates[first + COUNT - 1]
        assert rate > 0
        expected = {name: before[name] - rate * sum(part[name] for part in parts) / COUNT for name in parts[0]}
        torch.testing.assert_close({name: after[name] for name in expected}, expected, rtol=1e-5, atol=1e-7)
        assert changed(before, after)


def test_the_objective_knows_the_epoch_of_every_step(run: tuple[Runner, Witness]) -> None:
    assert run[1].epochs == [step // STEPS_PER_EPOCH for step in range(STEPS)]


def test_weights_and_target_move_once_per_optimiser_step(run: tuple[Runner, Witness]) -> None:
    _, witness = run
    for step in range(2, STEPS):  # the first learning rate is 0
        before, after = witness.weights[step], witness.weights[step + 1]
        online = [name for name in after if name.startswith(('backbone.', 'neck.')) and f'target.{name}' in after]
        followed = [name for name in online if 'running' not in name and 'num_batches' not in name]
        assert changed(before, after) == (step % COUNT == COUNT - 1)
        for name in followed:
            target = before[f'target.{name}']
            if step % COUNT == COUNT - 1:
                target = MOMENTUM * target + (1 - MOMENTUM) * after[name]
            torch.testing.assert_close(after[f'target.{name}'], target)


def test_a_micro_batch_counts_in_running_statistics(run: tuple[Runner, Witness]) -> None:
    runner, _ = run
    assert runner.model.neck.bn0.num_batches_tracked == 2 * STEPS  # each of two query streams by itself


def test_the_log_tells_everything(tmp_path: Path) -> None:
    runner = trained(run_config(tmp_path, visualizer__vis_backends=[dict(type='LocalVisBackend')]))
    (log,) = tmp_path.glob('*/vis_data/scalars.json')
    lines = [json.loads(line) for line in log.read_text().splitlines()]
    terms = [f'loss_{query}_{key}' for query, key, _ in tiny.PATCHMIX_TERMS]
    names = {'loss', 'lr', 'weight_decay', 'ema_momentum', 'feature_std', *terms}
    assert len(lines) == STEPS
    assert all(names <= set(line) for line in lines)
    # Halfway, the weight decay is halfway; the momentum rises from .9 to 1 at the last step.
    assert lines[0]['weight_decay'] == pytest.approx(0.04)
    assert lines[STEPS // 2]['weight_decay'] == pytest.approx(0.22)
    assert [lines[index]['ema_momentum'] for index in (STEPS // 2 - 1, -1)] == pytest.approx([0.95, 1.0])
    assert lines[0]['loss'] == pytest.approx(sum(lines[0][term] for term in terms), rel=1e-4)
    assert sum(scalars(runner, terms[0])) < sum(scalars(runner, 'loss'))


def test_what_cannot_be_mixed_is_refused_before_data_are_read(tmp_path: Path) -> None:
    cfg = run_config(tmp_path, model__mixer__num_mix=17)
    cfg.train_dataloader.dataset.dataset.type = 'ImageFolder'  # would need a folder
    with pytest.raises(UserError, match='num_mix=17 images do not fit into the 4x4 patches'):
        build_runner(cfg)
