"""Losses, gradients and images that are not finite: what every policy does, and what is left behind."""

import json
from pathlib import Path
from subprocess import CompletedProcess

import pytest
import torch
from engine.health.failing_runs import (
    FAILING,
    PLACES,
    STEPS,
    assert_the_target_stands,
    distance,
    finite_files,
    policy,
    run_with,
    weights,
)
from engine.tiny_runs import STEPS_PER_EPOCH, run_config, trained
from mmengine.config import Config
from mmengine.runner import Runner
from tools.command import run

from mixcl.engine import NonFiniteHook
from mixcl.engine.hooks.health.dump import read_dump
from mixcl.engine.hooks.health.replay import replay_step
from mixcl.errors import UserError


@pytest.fixture(scope='module')
def clean(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    runner = run_with(tmp_path_factory.mktemp('clean'), None)
    runner.train()
    return runner


@pytest.mark.parametrize('place', PLACES)
def test_raise_stops_before_the_weights_are_touched(tmp_path: Path, clean: Runner, place: str) -> None:
    runner = run_with(tmp_path, place)
    with pytest.raises(UserError, match=r'step 7: the loss or the gradient is not finite.*replay_step\.py'):
        runner.train()
    assert torch.equal(weights(runner), clean.recorded.after[FAILING - 1])
    assert [file.name for file in finite_files(tmp_path)] == ['epoch_1.pth', 'step_7.pth']
    dump = json.loads((tmp_path / 'nonfinite/step_7_rank0.json').read_text())
    sampler = runner.train_dataloader.sampler
    sampler.start = 0
    sampler.set_epoch(1)
    first = (FAILING - STEPS_PER_EPOCH) * 8
    assert dump['batches'][0]['keys'] == [list(key) for key in list(sampler)[first : first + 8]]
    assert (dump['step'], dump['seed'], len(dump['last_losses'])) == (FAILING, 7, FAILING + 1)
    expected = clean.message_hub.get_scalar('train/loss').data[0][:FAILING].tolist()
    assert dump['last_losses'][:-1] == pytest.approx(expected, rel=1e-5)
    assert torch.tensor(dump['last_losses'][-1]).isfinite() == (place == 'gradient')
    assert ('predictor.fc0.weight' in dump['gradients']) or place != 'gradient'


def test_a_skipped_step_leaves_no_trace_of_what_it_saw(tmp_path: Path, clean: Runner) -> None:
    """Whatever was wrong, the end is the same: also that of queues and batch-norm statistics."""
    ends = []
    for place in PLACES:
        runner = run_with(tmp_path / place, place, **policy('skip'))
        runner.train()
        assert torch.equal(runner.recorded.after[FAILING], runner.recorded.after[FAILING - 1])
        assert torch.equal(runner.recorded.after[FAILING - 1], clean.recorded.after[FAILING - 1])
        assert_the_target_stands(runner)
        assert runner.message_hub.get_scalar('train/nonfinite_steps').current() == 1
        assert [file.name for file in finite_files(tmp_path / place)] == ['epoch_1.pth', 'epoch_2.pth', 'step_7.pth']
        ends.append(runner.model.state_dict())
    for name, tensor in ends[0].items():
        assert torch.equal(tensor, ends[1][name]) and torch.equal(tensor, ends[2][name]), name
    assert not torch.equal(weights(runner), weights(clean))


def test_a_dump_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / 'nonfinite').touch()  # where its folder would be
    runner = run_with(tmp_path, 'loss', **policy('skip'))
    runner.train()
    assert runner.iter == STEPS
    (log,) = tmp_path.glob('*/*.log')
    assert (
        f'it is skipped on all processes (failure 1); no dump of it could be written to {tmp_path}' in log.read_text()
    )


def test_rollback_returns_to_the_last_snapshot(tmp_path: Path) -> None:
    runner = run_with(tmp_path, 'loss', **policy('rollback', snapshot_interval=3))
    runner.train()
    after = runner.recorded.after
    # Snapshots follow steps 2 and 5.
    assert torch.equal(after[FAILING], after[5])
    assert not torch.equal(after[FAILING - 1], after[5])
    assert not torch.equal(after[FAILING + 1], after[FAILING])
    target_after = runner.recorded.target_after
    assert torch.equal(target_after[FAILING], target_after[5])
    assert not torch.equal(target_after[FAILING - 1], target_after[5])
    finite_files(tmp_path)


@pytest.mark.parametrize(('name', 'steps'), [('skip', (4, 5, 6)), ('rollback', (4, 6, 8))])
def test_too_many_failures_stop_the_run(tmp_path: Path, name: str, steps: tuple[int, ...]) -> None:
    with pytest.raises(UserError, match=rf'step {steps[-1]}: .* \(failure 3 of at most 3\)'):
        run_with(tmp_path, 'loss', steps, **policy(name, max_failures=3)).train()
    if name == 'skip':
        run_with(tmp_path / 'apart', 'loss', (3, 5, 7), **policy(name, max_failures=3)).train()


FUSED = dict(optim_wrapper__optimizer__fused=True)


def test_a_fused_optimizer_holds_back_everything_after_the_failure(tmp_path: Path) -> None:
    clean = run_with(tmp_path / 'clean', None, **FUSED)
    clean.train()
    runner = run_with(tmp_path / 'failing', 'gradient', (1,), **FUSED, **policy('raise', interval=4))
    with pytest.raises(UserError, match='step 1: '):
        runner.train()
    # Read after the step of index 3; nothing has moved since the failure.
    assert sorted(runner.recorded.after) == [0, 1, 2]
    assert torch.equal(weights(runner), clean.recorded.after[0])
    assert torch.equal(weights(runner, trained=False), clean.recorded.target_after[0])
    assert read_dump(tmp_path / 'failing/nonfinite/step_1_rank0.json').step == 1


@pytest.mark.parametrize('place', PLACES)
def test_a_fused_optimizer_skips_on_the_device(tmp_path: Path, clean: Runner, place: str) -> None:
    at_once = run_with(tmp_path / 'at_once', place, **policy('skip'))
    at_once.train()
    fused = run_with(tmp_path / 'fused', place, **FUSED, **policy('skip', interval=4))
    fused.train()
    assert torch.equal(fused.recorded.after[FAILING], fused.recorded.after[FAILING - 1])
    assert_the_target_stands(fused)
    # Adam's first steps enlarge rounding; the step that was skipped matters far more.
    assert distance(fused, at_once) < 0.1 * distance(clean, at_once)
    assert fused.message_hub.get_scalar('train/nonfinite_steps').current() == 1
    finite_files(tmp_path)


def test_a_fused_rollback(tmp_path: Path) -> None:
    """Snapshots before step 3 and before step 6; the verdicts of steps 3 and 4 are read together."""
    runner = run_with(tmp_path, 'loss', (4,), **FUSED, **policy('rollback', snapshot_interval=3, interval=2))
    runner.train()
    after = runner.recorded.after
    assert torch.equal(after[4], after[2])
    assert not torch.equal(after[3], after[2]) and not torch.equal(after[5], after[4])
    target_after = runner.recorded.target_after
    assert torch.equal(target_after[4], target_after[2]) and not torch.equal(target_after[5], target_after[4])


def test_accumulated_gradients_are_judged_together(tmp_path: Path) -> None:
    """Gradients of two batches per step; the first batch of the third step fails."""
    runner = run_with(tmp_path, 'loss', (4,), optim_wrapper__accumulative_counts=2, **policy('skip'))
    runner.train()
    after = runner.recorded.after
    assert torch.equal(after[5], after[3])
    assert not torch.equal(after[7], after[5])
    assert [batch.step for batch in read_dump(tmp_path / 'nonfinite/step_5_rank0.json').batches] == [4, 5]
    finite_files(tmp_path)


def poisoned(work_dir: Path, **overrides: object) -> Config:
    cfg = run_config(work_dir, **overrides)
    cfg.train_dataloader.dataset.dataset.pipeline.insert(1, dict(type='PoisonImage'))
    return cfg


@pytest.mark.parametrize('accumulated', [1, 2])
def test_a_dump_replays_the_failure(tmp_path: Path, accumulated: int) -> None:
    with pytest.raises(UserError, match='is not finite'):
        trained(poisoned(tmp_path, optim_wrapper__accumulative_counts=accumulated))
    (path,) = (tmp_path / 'nonfinite').glob('*.json')
    dump = read_dump(path)
    assert len(dump.batches) == accumulated or dump.step == 9
    assert any(key[1:] == [1, 7] for batch in dump.batches for key in batch.keys)
    replay = replay_step(path)
    assert replay.failed
    assert 'backbone.layers.0.attn.qkv.weight' in replay.gradients


def test_a_replay_gives_the_same_losses(tmp_path: Path, clean: Runner) -> None:
    """A gradient that fails once leaves the loss as it was, and is gone in the replay."""
    with pytest.raises(UserError):
        run_with(tmp_path, 'gradient').train()
    replay = replay_step(tmp_path / 'nonfinite/step_7_rank0.json')
    assert not replay.failed
    assert replay.losses[0]['loss'] == clean.message_hub.get_scalar('train/loss').data[0][FAILING]


def test_the_commands(tmp_path: Path) -> None:
    """A temperature of almost 0 makes all logits infinite."""
    options = ('--cfg-options', 'model.objective.temperature=1e-43', 'train_dataloader.num_workers=0')
    result = run('tools/train.py', 'configs/patchmix/vit-xs4_digits.py', '--work-dir', tmp_path, *options)
    assert result.returncode == 2
    assert 'step 0: the loss or the gradient is not finite' in result.stderr
    replay = run('tools/replay_step.py', tmp_path / 'nonfinite/step_0_rank0.json')
    assert replay.returncode == 0, replay.stderr
    assert 'the failure happened again' in replay.stdout and 'vit-xs4_digits' in replay.stdout
    assert not list(tmp_path.glob('epoch_*.pth'))
    assert run('tools/replay_step.py', tmp_path / 'environment.json').returncode == 2


CONFIG = """
_base_ = '{root}/configs/patchmix/vit-xs4_digits.py'
custom_imports = dict(imports=['faults'])
custom_hooks = [dict(type='InjectFault', place='{place}', steps=(3,), rank=1), dict(type='TellWeights')]
default_hooks = dict(nonfinite=dict(policy='{policy}'), logger=dict(interval=1))
train_dataloader = dict(batch_size=16, num_workers=0, dataset=dict(dataset=dict(indices=160)))
train_cfg = dict(max_epochs=1)
val_cfg = val_dataloader = val_evaluator = None
"""


def run_on_two_processes(work_dir: Path, place: str, name: str) -> CompletedProcess:
    """The second of them fails at step 3; both have written dumps and the same weights."""
    root = Path(__file__).parents[3]
    (work_dir / 'faults.py').write_text((root / 'tests/engine/health/faults.py').read_text())
    (work_dir / 'config.py').write_text(CONFIG.format(root=root, place=place, policy=name))
    result = run(
        *('-m', 'torch.distributed.run', '--standalone', '--nproc_per_node', 2),
        *('tools/train.py', work_dir / 'config.py', '--launcher', 'pytorch', '--work-dir', work_dir / 'run'),
    )
    dumps = sorted(path.name for path in (work_dir / 'run/nonfinite').glob('*.json'))
    assert dumps == ['step_3_rank0.json', 'step_3_rank1.json'], result.stderr[-3000:]
    first, second = (work_dir / f'run/weights_{rank}.txt' for rank in (0, 1))
    assert first.read_text() == second.read_text()
    return result


@pytest.mark.parametrize(
    ('place', 'name', 'message', 'like_step'),
    [
        ('loss', 'skip', 'it is skipped on all processes (failure 1)', 2),
        ('gradient', 'rollback', 'back to the weights of step 0 (failure 1)', 0),  # the rate of the first step is 0
    ],
)
def test_all_processes_go_on_alike_after_a_failure_of_one(
    tmp_path: Path, place: str, name: str, message: str, like_step: int
) -> None:
    result = run_on_two_processes(tmp_path, place, name)
    assert result.returncode == 0, result.stderr[-3000:]
    assert message in result.stdout
    weights = (tmp_path / 'run/weights_0.txt').read_text().split()
    assert weights[3] == weights[like_step] and len(set(weights)) == 4
    assert [file.name for file in finite_files(tmp_path / 'run')] == ['epoch_1.pth', 'step_3.pth']
    replay = run('tools/replay_step.py', tmp_path / 'run/nonfinite/step_3_rank0.json')
    assert (replay.returncode, 'everything was finite this time' in replay.stdout) == (1, True), replay.stderr


def test_a_failure_of_one_process_stops_all(tmp_path: Path) -> None:
    result = run_on_two_processes(tmp_path, 'input', 'raise')
    assert result.returncode != 0
    assert result.stderr.count('error: step 3: the loss or the gradient is not finite') == 1
    assert [file.name for file in finite_files(tmp_path / 'run')] == ['step_3.pth']


@pytest.mark.parametrize(
    'arguments', [dict(policy='ignore'), dict(max_failures=0), dict(snapshot_interval=0), dict(interval=0)]
)
def test_values_out_of_range(arguments: dict) -> None:
    with pytest.raises(UserError, match=next(iter(arguments))):
        NonFiniteHook(**arguments)
