"""Two processes with half of a batch each compute what the mathematics says of the whole batch."""

import functools

import pairs
import pytest
import torch
from pairs import BATCH, LEARNERS, NUM_MIX, RANKS
from torch import Tensor, nn
from torch.nn import functional

from mixcl.algorithms import ContrastiveLearner, StepKey
from mixcl.encoders import SyncBatchNorm
from mixcl.randomness import generator

close = functools.partial(torch.testing.assert_close, rtol=1e-8, atol=1e-8)
assert_equal = functools.partial(torch.testing.assert_close, rtol=0, atol=0)


@pytest.fixture(scope='module')
def pair(tmp_path_factory: pytest.TempPathFactory) -> list[dict]:
    """What the two processes found."""
    return pairs.run_pair(pairs.everything, tmp_path_factory.mktemp('pair'))


# ----- batch normalisation -----


@pytest.fixture(params=pairs.NORM_CASES)
def norm(request: pytest.FixtureRequest, pair: list[dict]) -> tuple[list[dict], dict]:
    """What the two processes found, and torch's layer on the whole batch."""
    layer_type = nn.BatchNorm2d if 'H' in request.param else nn.BatchNorm1d
    whole = pairs.normalise(layer_type, request.param, slice(None))
    return [found['norm'][request.param] for found in pair], whole


def test_batch_norm_outputs_and_input_gradients_are_those_of_the_whole_batch(norm: tuple) -> None:
    parts, whole = norm
    assert [len(part['outputs']) for part in parts] == [5, 3]
    close(torch.cat([part['outputs'] for part in parts]), whole['outputs'])
    close(torch.cat([part['gradients'] for part in parts]), whole['gradients'])


def test_batch_norm_parameter_gradients_add_up_to_those_of_the_whole_batch(norm: tuple) -> None:
    (first, second), whole = (part['parameter_gradients'] for part in norm[0]), norm[1]['parameter_gradients']
    close({name: first[name] + second[name] for name in whole}, whole)


def test_batch_norm_running_statistics_are_those_of_the_whole_batch(norm: tuple) -> None:
    parts, whole = norm
    assert whole['buffers']['num_batches_tracked'] == 2
    for part in parts:
        close(part['buffers'], whole['buffers'])


@pytest.mark.parametrize('dtype', ['float32', 'bfloat16'])
def test_batch_norm_of_inputs_with_a_large_mean_in_low_precision(pair: list[dict], dtype: str) -> None:
    """A variance taken as the mean square less the squared mean would be off by several per cent here."""
    together = torch.cat([found['low_precision'][dtype] for found in pair])
    assert together.dtype == getattr(torch, dtype)
    expected = pairs.normalise_shifted(nn.BatchNorm1d, dtype, slice(None))
    tolerance = dict(float32=1e-4, bfloat16=1e-2)[dtype]
    torch.testing.assert_close(together, expected, rtol=tolerance, atol=tolerance)


# ----- gathering -----


def test_rows_are_gathered_in_rank_order(pair: list[dict]) -> None:
    expected = torch.cat([pairs.own_rows(rank) for rank in RANKS])
    for found in pair:
        assert torch.equal(found['gathered'], expected) and not found['gathered'].requires_grad


@pytest.mark.parametrize('rank', RANKS)
def test_gathered_rows_pass_back_the_gradient_of_all_losses(pair: list[dict], rank: int) -> None:
    own = slice(4 * rank, 4 * rank + 4)
    close(pair[rank]['gathered_gradient'], sum(pairs.factors(other) for other in RANKS)[own])


# ----- the engine -----


def with_plain_batch_norm(learner: ContrastiveLearner) -> ContrastiveLearner:
    for parent in list(learner.modules()):
        for name, layer in parent.named_children():
            if isinstance(layer, SyncBatchNorm):
                plain = nn.BatchNorm1d(layer.num_features, affine=layer.affine).double()
                plain.load_state_dict(layer.state_dict())
                setattr(parent, name, plain)
    return learner


def shares_by_hand(rank: int, num_mix: int) -> Tensor:
    """(B, 2 B) share of every image of both processes in each of a process's mixtures of ``num_mix`` images."""
    table = torch.zeros(BATCH, 2 * BATCH, dtype=torch.float64)
    for row in range(BATCH):
        for offset in range(num_mix):
            table[row, rank * BATCH + (row + offset) % BATCH] += 1 / num_mix
    return table


def stream_by_hand(learner: ContrastiveLearner, name: str) -> tuple[Tensor, Tensor]:
    """The rows (R, 3, 8, 8) of a stream on both processes, and the shares (R, 2 B) of all images in them."""
    view, mixed = name.replace('mix', 'view'), name.startswith('mix')
    images, shares = [], []
    for rank in RANKS:
        crops, key = pairs.crops(learner, rank), StepKey(pairs.SEED, pairs.STEP, rank)
        chosen = crops[:1] if view == 'view1' else crops[1:]
        if mixed:
            plan = learner.recipe.mixer.plan(BATCH, generator(*key, 'plan'))
            chosen = [learner.recipe.mixer.place(crop, plan, generator(*key, name, 0))[0] for crop in chosen]
        images += chosen
        shares += [shares_by_hand(rank, NUM_MIX if mixed else 1)] * len(chosen)
    return torch.cat(images), torch.cat(shares)


def target_by_hand(queries: Tensor, keys: Tensor) -> Tensor:
    """(Q, K) share of every key row in the target of every query row: their overlap, normalised."""
    overlap = torch.minimum(queries[:, None], keys[None]).sum(dim=2)
    return overlap / overlap.sum(dim=1, keepdim=True)


def losses_by_hand(learner: ContrastiveLearner, name: str) -> list[dict[str, Tensor]]:
    """Every process's terms, by one process that passes whole batches through plain layers and needs no gathering."""
    target = learner if name == 'stop gradient' else learner.target
    smoothing, scale = (0.1 if name == 'smoothing' else 0), (2 * 0.2 if name == 'moco v3' else 1)
    losses = [{} for _ in RANKS]
    for term in learner.terms:
        images, shares = stream_by_hand(learner, term.query)
        key_images, key_shares = stream_by_hand(learner, term.key)
        queries = functional.normalize(learner.predictor(learner.neck(learner.backbone(images)[-1])), dim=1)
        with torch.no_grad():
            keys = functional.normalize(target.neck(target.backbone(key_images)[-1]), dim=1)
        soft = (1 - smoothing) * target_by_hand(shares, key_shares) + smoothing / len(keys)
        rows = -(soft * (queries @ keys.T / 0.2).log_softmax(dim=1)).sum(dim=1)
        for rank in RANKS:
            losses[rank][f'loss_{term.query}_{term.key}'] = term.weight * scale * rows.chunk(2)[rank].mean()
    return losses


@functools.cache
def by_hand(name: str) -> tuple[list[dict[str, Tensor]], dict[str, Tensor]]:
    """Losses of both processes, and gradients of the mean over the processes."""
    learner = with_plain_batch_norm(pairs.build_learner(name))
    losses = losses_by_hand(learner, name)
    (sum(sum(terms.values()) for terms in losses) / len(RANKS)).backward()
    gradients = {key: parameter.grad for key, parameter in learner.named_parameters() if parameter.grad is not None}
    return losses, gradients


@pytest.mark.parametrize('name', LEARNERS)
@pytest.mark.parametrize('rank', RANKS)
def test_losses_equal_those_written_out_for_both_batches(pair: list[dict], name: str, rank: int) -> None:
    losses, _ = by_hand(name)
    close(pair[rank]['learners'][name]['losses'], losses[rank])


@pytest.mark.parametrize('name', LEARNERS)
def test_gradients_equal_those_of_the_mean_loss_of_both_processes(pair: list[dict], name: str) -> None:
    _, gradients = by_hand(name)
    assert any(gradient.abs().max() > 1e-3 for gradient in gradients.values())
    for found in pair:
        close(found['learners'][name]['gradients'], gradients)


@pytest.mark.parametrize('name', LEARNERS)
def test_after_a_step_both_processes_hold_the_same_weights_and_statistics(pair: list[dict], name: str) -> None:
    first, second = (found['learners'][name]['state'] for found in pair)
    assert_equal(first, second)


def test_after_a_step_the_target_has_followed_the_averaged_gradient(pair: list[dict]) -> None:
    """The target starts as the online encoder; half-way, the momentum is halfway between 0.9 and 1."""
    before, gradients = dict(pairs.build_learner('momentum').named_parameters()), by_hand('momentum')[1]
    followed = [key for key in gradients if key.startswith(('backbone.', 'neck.'))]
    expected = {key: before[key].detach() - 0.05 * pairs.LEARNING_RATE * gradients[key] for key in followed}
    for found in pair:
        state = found['learners']['momentum']['state']
        close({key: state[f'target.{key}'] for key in followed}, expected)


# ----- data and mixing -----


def test_two_processes_see_the_batches_of_one(pair: list[dict]) -> None:
    alone, shares = pairs.hashed_batches(), [found['batches'] for found in pair]
    assert len(alone) == 2 and all(len(share) == 2 for share in shares)
    for batch, first, second in zip(alone, *shares, strict=True):
        assert len(first) == len(second) == 4
        assert sorted(first + second) == sorted(batch)


def test_a_view_does_not_depend_on_the_process(pair: list[dict]) -> None:
    assert pair[0]['same_view'] == pair[1]['same_view'] and len(set(pair[0]['same_view'])) == 2


def test_samplers_without_a_seed_agree_on_one(pair: list[dict]) -> None:
    assert pair[0]['agreed_seed'] == pair[1]['agreed_seed']


def test_processes_mix_differently_in_the_same_step(pair: list[dict]) -> None:
    first, second = (found['mixing'] for found in pair)
    assert torch.equal(first['view'], second['view'])
    assert first['plans'] != second['plans'] and set(first['plans']) == set(second['plans']) == {1, 2, 3}
    same_plan = [step for step in range(20) if first['plans'][step] == second['plans'][step] > 1]
    assert same_plan
    for step in same_plan:
        assert not torch.equal(first['images'][step], second['images'][step])


def test_a_run_of_two_processes_keys_its_steps_by_rank_and_keeps_the_weights_together(pair: list[dict]) -> None:
    first, second = (found['run'] for found in pair)
    seed = first['steps'][0][0]
    assert first['steps'] == [(seed, step, 0) for step in range(4)]
    assert second['steps'] == [(seed, step, 1) for step in range(4)]
    assert_equal(first['state'], second['state'])
