"""Losses, gradients and images that are not finite: what every policy does, and what is left behind."""

import json
from functools import partial
from pathlib import Path

import mmengine.optim.optimizer.amp_optimizer_wrapper as amp
import pytest
import torch
from engine.failing_runs import FAILING, STEPS, policy, run_with, weights
from engine.tiny_runs import STEPS_PER_EPOCH
from mmengine.runner import Runner

from mixcl.engine import NonFiniteHook
from mixcl.engine.hooks.health.nonfinite import broken_terms
from mixcl.engine.optimizers.lars import skips_on_device
from mixcl.errors import UserError

PLACES = ('loss', 'gradient', 'input')
FUSED = dict(optim_wrapper__optimizer__fused=True)
LARS = dict(optim_wrapper__optimizer=dict(type='MoCoLARS', lr=0.1, weight_decay=0.1, _delete_=True))
SGD = dict(optim_wrapper__optimizer=dict(_delete_=True, type='SGD', lr=0.1, momentum=0.9, weight_decay=0.1, fused=True))


def dump_of(work_dir: Path, step: int) -> str:
    return (work_dir / f'nonfinite/step_{step}_rank0.json').read_text()


def finite_files(folder: Path) -> list[str]:
    """Return the names of all weight files below a folder; check that their weights are finite."""
    files = sorted(folder.rglob('*.pth'))
    for file in files:
        state = torch.load(file, weights_only=True)['state_dict']
        assert all(tensor.isfinite().all() for tensor in state.values() if tensor.is_floating_point()), file
    return [file.name for file in files]


def assert_stood_still(runner: Runner) -> None:
    """Check that weights and target stayed the same at the refused step, and at no other."""
    recorded = runner.recorded
    for step in range(2, STEPS - 1):  # the first learning rate is 0, the last momentum 1
        for after in (recorded.after, recorded.target_after):
            assert torch.equal(after[step], after[step - 1]) == (step == FAILING), step
    assert len(runner.message_hub.get_scalar('train/ema_momentum').data[0]) == STEPS, 'its schedule goes on'
    assert runner.message_hub.get_scalar('train/nonfinite_steps').current() == 1
    finite_files(Path(runner.work_dir))


@pytest.fixture(scope='module')
def clean(tmp_path_factory: pytest.TempPathFactory) -> Runner:
    runner = run_with(tmp_path_factory.mktemp('clean'), None)
    runner.train()
    return runner


@pytest.mark.parametrize('place', PLACES)
def test_raise_stops_before_the_weights_are_touched(tmp_path: Path, clean: Runner, place: str) -> None:
    """A dump names the images; a resumed run fails at the same step in the same way."""
    named = '' if place == 'gradient' else ', first loss_view1_view2'
    message = rf'step 7: the loss or the gradient is not finite{named};.*step_7_rank0\.json'
    dumps = []
    for resume in (False, True):
        runner = run_with(tmp_path, place, resume=resume)
        with pytest.raises(UserError, match=message):
            runner.train()
        assert torch.equal(weights(runner), clean.recorded.after[FAILING - 1])
        dumps.append(dump_of(tmp_path, FAILING))
    assert dumps[0] == dumps[1] and finite_files(tmp_path) == ['epoch_1.pth']
    dump, sampler = json.loads(dumps[0]), clean.train_dataloader.sampler
    sampler.set_epoch(1)
    first = (FAILING - STEPS_PER_EPOCH) * 8
    assert dump['batches'][0]['images'] == [str(index) for *_, index in list(sampler)[first : first + 8]]
    assert (dump['step'], dump['seed'], dump['rank']) == (FAILING, 7, 0)
    expected = clean.message_hub.get_scalar('train/loss').data[0][FAILING]
    assert (dump['batches'][0]['losses']['loss'] == pytest.approx(expected, rel=1e-5)) == (place == 'gradient')


def test_a_skipped_step_leaves_no_trace_of_what_it_saw(tmp_path: Path, clean: Runner) -> None:
    """Whatever was not finite, the final state is the same, queues and batch-norm statistics included."""
    ends = []
    for place in PLACES:
        runner = run_with(tmp_path / place, place, **policy('skip'))
        runner.train()
        assert torch.equal(runner.recorded.after[FAILING - 1], clean.recorded.after[FAILING - 1])
        assert_stood_still(runner)
        ends.append(runner.model.state_dict())
    for name, tensor in ends[0].items():
        assert torch.equal(tensor, ends[1][name]) and torch.equal(tensor, ends[2][name]), name


def test_a_dump_that_cannot_be_written_does_not_end_the_run(tmp_path: Path) -> None:
    (tmp_path / 'nonfinite').touch()  # where its folder would be
    run_with(tmp_path, 'loss', **policy('skip')).train()
    text = next(tmp_path.glob('*/*.log')).read_text()
    assert f'it is skipped on all processes (failure 1); no dump of it could be written to {tmp_path}' in text


def test_too_many_failures_in_a_row_stop_the_run(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r'step 6: .* \(failure 3 in a row\)'):
        run_with(tmp_path, 'loss', (4, 5, 6), **policy('skip', max_failures=3)).train()
    run_with(tmp_path / 'apart', 'loss', (3, 5, 7), **policy('skip', max_failures=3)).train()


def test_a_fused_optimizer_holds_back_everything_after_the_failure(tmp_path: Path) -> None:
    clean = run_with(tmp_path / 'clean', None, **FUSED)
    clean.train()
    runner = run_with(tmp_path / 'failing', 'gradient', (2,), **FUSED, default_hooks__logger__interval=4)
    with pytest.raises(UserError, match='step 2: '):
        runner.train()
    # The failure is read when a log line is due, after the step of index 3; nothing has moved since.
    assert sorted(runner.recorded.after) == [0, 1, 2]
    assert torch.equal(weights(runner), clean.recorded.after[1])
    assert torch.equal(weights(runner, trained=False), clean.recorded.target_after[1])


@pytest.mark.parametrize('optimizer', [FUSED, LARS, SGD], ids=['AdamW', 'LARS', 'SGD'])
def test_optimizers_that_skip_on_the_device(tmp_path: Path, optimizer: dict) -> None:
    runner = run_with(tmp_path, 'input', **optimizer, **policy('skip'), default_hooks__logger__interval=4)
    runner.train()
    assert skips_on_device(runner.optim_wrapper.optimizer)
    assert_stood_still(runner)


def test_the_first_step_of_a_fused_sgd_leaves_no_unfilled_momentum(tmp_path: Path) -> None:
    run_with(tmp_path, 'gradient', (0,), **SGD, **policy('skip')).train()
    assert finite_files(tmp_path) == ['epoch_1.pth', 'epoch_2.pth']


def test_accumulated_gradients_are_judged_together(tmp_path: Path) -> None:
    """Gradients of two batches per step; the first batch of the third step fails."""
    runner = run_with(tmp_path, 'loss', (4,), optim_wrapper__accumulative_counts=2, **policy('skip'))
    runner.train()
    after = runner.recorded.after
    assert torch.equal(after[5], after[3]) and not torch.equal(after[7], after[5])
    assert [batch['step'] for batch in json.loads(dump_of(tmp_path, 5))['batches']] == [4, 5]


def test_a_failure_of_one_process_of_two_is_one_of_both(pair: list[dict]) -> None:
    first, second = (found['failures'] for found in pair)
    assert first['skip']['weights'] == second['skip']['weights']
    still = [step for step in range(2, STEPS) if len(set(first['skip']['weights'][step - 1 : step + 1])) == 1]
    assert still == [FAILING], 'both skip it'
    for found in (first, second):
        assert found['skip']['dumps'] == [f'step_{FAILING}_rank0.json', f'step_{FAILING}_rank1.json']
        assert found['raise']['message'].startswith('step 7: the loss or the gradient is not finite')
    assert first['raise']['weights'] == second['raise']['weights'] == first['skip']['weights'][:FAILING]


def test_terms_that_failed_are_named_and_other_policies_refused() -> None:
    losses = dict(loss='nan', loss_rpn='1', loss_box='inf', loss_mask='nan')
    tensors = {name: torch.tensor(float(value)) for name, value in losses.items()}
    assert broken_terms(tensors) == ['loss_box', 'loss_mask']
    with pytest.raises(UserError, match="policy must be one of raise, skip, not 'rollback'"):
        NonFiniteHook('rollback')


# ----- under loss scaling, overflow is the scaler's business -----


@pytest.fixture
def loss_scaling(monkeypatch: pytest.MonkeyPatch) -> dict:
    """Return settings of AmpOptimWrapper with a scaler for the CPU, which it refuses otherwise."""
    monkeypatch.setattr(amp, 'is_cuda_available', lambda: True)
    monkeypatch.setattr(amp, 'GradScaler', partial(torch.amp.GradScaler, 'cpu'))
    return dict(optim_wrapper__type='AmpOptimWrapper', optim_wrapper__dtype='bfloat16')


@pytest.mark.parametrize('options', [{}, FUSED, LARS], ids=['AdamW', 'fused', 'LARS'])
def test_overflow_of_scaled_gradients_is_left_to_the_scaler(tmp_path: Path, loss_scaling: dict, options: dict) -> None:
    """The scale falls until it fits; it then doubles after every good step, and soon overflows again."""
    scale = dict(init_scale=2.0**116, growth_interval=1)
    runner = run_with(tmp_path, None, **loss_scaling, optim_wrapper__loss_scale=scale, **options)
    runner.train()
    assert 1 < runner.optim_wrapper.loss_scaler.get_scale() < 2.0**120
    recorded = runner.recorded
    moved, followed = (
        [step for step in range(1, STEPS - 1) if not torch.equal(after[step], after[step - 1])]
        for after in (recorded.after, recorded.target_after)
    )
    assert moved == followed and moved != list(range(moved[0], STEPS - 1)), 'overflow after the first good steps, too'
    assert 'train/nonfinite_steps' not in runner.message_hub.log_scalars
    norms = torch.tensor(runner.message_hub.get_scalar('train/gradient_norm').data[0])
    assert (norms[norms.isfinite()] < 1000).all(), 'the scale is undone'
    finite_files(tmp_path)


@pytest.mark.parametrize('options', [{}, FUSED], ids=['AdamW', 'fused'])
def test_a_loss_that_is_not_finite_under_scaling(tmp_path: Path, loss_scaling: dict, options: dict) -> None:
    runner = run_with(tmp_path, 'input', **loss_scaling, **options, **policy('skip'))
    runner.train()
    assert_stood_still(runner)


def test_gradients_that_never_fit_the_scaler(tmp_path: Path, loss_scaling: dict) -> None:
    """Every failure halves the scale; below 1 the scale is no longer to blame."""
    scale = dict(optim_wrapper__loss_scale=dict(init_scale=4.0))
    with pytest.raises(UserError, match='step 2: '):
        run_with(tmp_path, 'gradient', tuple(range(10)), **loss_scaling, **scale).train()
