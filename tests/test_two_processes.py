"""Two and four processes, each with its part of a batch, compute what one computes from the whole batch."""

import functools

import host_steps
import pairs
import pytest
import torch
from host_steps import FOUR, MODELS, OWN_KEYS
from torch import nn

close = functools.partial(torch.testing.assert_close, rtol=1e-6, atol=1e-6)


@pytest.fixture(scope='module')
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Return what the two processes found."""
    return pairs.run_pair(pairs.everything, tmp_path_factory.mktemp('pair'))


# ----- layers -----


@pytest.mark.parametrize('case', pairs.NORM_CASES)
def test_batch_norm_is_that_of_the_whole_batch(pair: list[dict], case: str) -> None:
    """Outputs, gradients and running statistics are those of torch's layer."""
    whole = pairs.normalise(nn.BatchNorm2d if 'H' in case else nn.BatchNorm1d, case, slice(None))
    first, second = (found['norm'][case] for found in pair)
    assert (len(first['outputs']), len(second['outputs'])) == (5, 3)
    for name in ('outputs', 'gradients'):
        close(torch.cat([first[name], second[name]]), whole[name])
    gradients = (first['parameter_gradients'], second['parameter_gradients'])
    close({name: sum(part[name] for part in gradients) for name in gradients[0]}, whole['parameter_gradients'])
    assert whole['buffers']['num_batches_tracked'] == 2
    close([first['buffers'], second['buffers']], [whole['buffers']] * 2)


def test_gathered_rows_are_in_rank_order_and_pass_back_the_gradient_of_all_losses(pair: list[dict]) -> None:
    expected = torch.cat([pairs.own_rows(rank) for rank in range(2)])
    gradients = sum(pairs.factors(rank) for rank in range(2)).chunk(2)
    for rank, (rows, gradient) in enumerate(found['gathered'] for found in pair):
        assert torch.equal(rows, expected) and not rows.requires_grad
        close(gradient, gradients[rank])


# ----- steps of the hosts -----


def agree(found: list[dict], name: str) -> None:
    """Check that losses, gradients and memory are those of one process."""
    expected = host_steps.one_process(name, len(found))
    losses = [part[name]['losses'] for part in found]
    assert (losses[0] == losses[1]) == name.startswith('barlow_twins')  # whose loss is one of the whole batch
    close({key: sum(part[key] for part in losses) / len(found) for key in losses[0]}, expected['losses'])
    assert max(gradient.abs().max() for gradient in expected['gradients'].values()) > 1e-3
    before = dict(host_steps.build(name).named_buffers())
    assert bool(expected['memory']) == name.startswith(('moco_v1', 'moco_v2', 'dino', 'ibot', 'swav', 'distilled'))
    for part in found:
        close(part[name]['gradients'], expected['gradients'])
        if name not in OWN_KEYS:
            close(part[name]['memory'], expected['memory'])
        assert not any(torch.equal(value, before[key]) for key, value in part[name]['memory'].items())


@pytest.mark.parametrize('name', MODELS)
def test_a_step_of_two_processes_is_that_of_one(pair: list[dict], name: str) -> None:
    agree([found['steps'] for found in pair], name)


@pytest.fixture(scope='module')
def four(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """Return what the four processes found."""
    return pairs.run_processes(functools.partial(host_steps.steps, FOUR), tmp_path_factory.mktemp('four'), 4)


@pytest.mark.parametrize('name', FOUR)
def test_a_step_of_four_processes_is_that_of_one(four: list[dict], name: str) -> None:
    agree(four, name)


# ----- data and runs -----


def test_the_group_of_hosts_is_made_once(pair: list[dict]) -> None:
    assert all(found['group'] for found in pair)


def test_what_fails_in_the_first_process_fails_in_all(pair: list[dict]) -> None:
    first, second = (found['failures'] for found in pair)
    kinds = dict(zip(pairs.FAILURES, ('MemoryError', 'SystemExit', 'AttributeError', 'UserError'), strict=True))
    assert {name: kind for name, (kind, _) in first.items()} == kinds
    assert first.pop('foreseen') == second.pop('foreseen')
    for name, (kind, text) in second.items():
        assert kind == 'UserError' and text.startswith(f'the first process failed: {kinds[name]}(')


def test_samplers_without_a_seed_agree_on_one(pair: list[dict]) -> None:
    assert pair[0]['agreed_seed'] == pair[1]['agreed_seed']


def test_a_run_of_two_processes_keys_its_steps_by_rank_and_keeps_the_weights_together(pair: list[dict]) -> None:
    first, second = (found['run'] for found in pair)
    seed = first['steps'][0][0]
    for rank, found in enumerate((first, second)):
        assert found['steps'] == [(seed, step, rank) for step in range(4)]
    for epoch in range(2):
        steps = slice(2 * epoch, 2 * epoch + 2)
        seen = [key for found in (first, second) for batch in found['images'][steps] for key in batch]
        assert len(set(seen)) == 32 and {key[:2] for key in seen} == {(seed, epoch)}
    torch.testing.assert_close(first['state'], second['state'], rtol=0, atol=0)
