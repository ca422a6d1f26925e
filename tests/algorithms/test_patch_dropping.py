"""Patches that are kept of a stream: what they count as, and which encoder sees them."""

import hosts
import pytest
import torch
from torch import Tensor
from torch.nn import functional

from mixcl.algorithms import StepKey, Stream, StreamRecipe
from mixcl.composition import Composition
from mixcl.registry import MIXERS

BATCH = 6
SIDE, PATCH = 24, 6
"""Sides of images and of the backbone's patches; the latter is no multiple of PatchMix's patches."""
SIZED = dict(patchmix=dict(patch_size=4), region_swap=dict(cell=4, cells=(1, 2, 3)))


def shares_in_kept_patches(images: Tensor, tokens: Tensor, first: int) -> Tensor:
    """Return shares (R, BATCH) by a loop over rows and patches; every pixel shows the number of its source."""
    shares = torch.zeros(len(images), BATCH)
    for row, kept in enumerate(tokens.tolist()):
        assert len(set(kept)) == len(kept)
        for patch in kept:
            y, x = patch // (SIDE // PATCH) * PATCH, patch % (SIDE // PATCH) * PATCH
            shown = images[row, 0, y : y + PATCH, x : x + PATCH].round().long() - first
            shares[row] += shown.flatten().bincount(minlength=BATCH) / (PATCH**2 * len(kept))
    return shares


@pytest.mark.parametrize('name', sorted(set(hosts.MIXERS) - {'mixup', 'choice'}))
def test_a_mixture_counts_what_its_kept_patches_show(name: str) -> None:
    mixer = MIXERS.build(hosts.MIXERS[name] | SIZED.get(name, {}))
    views = ('view1', 'view2') if name == 'scalemix' else 'view1'  # of one image: each row shows its own
    recipe = StreamRecipe(dict(view1=2, view2=2), dict(mix1=dict(mix=views, keep=0.3)), mixer)
    first = 2 * BATCH
    crop = (first + torch.arange(BATCH))[:, None, None, None].expand(-1, 3, SIDE, SIDE).float()
    for step in range(5):
        whole = recipe.build([crop] * 4, {'mix1'}, StepKey(0, step, rank=2))['mix1']
        seen = whole.dropped(0.3, PATCH, torch.Generator().manual_seed(step))
        assert seen.tokens.shape == (2 * BATCH, 5)  # of 16 patches, two crops
        shares = torch.zeros(2 * BATCH, BATCH)
        shares.scatter_add_(1, seen.composition.sources - first, seen.composition.weights)
        torch.testing.assert_close(shares, shares_in_kept_patches(seen.images, seen.tokens, first))
        assert torch.equal(seen.composition.sources, whole.composition.sources)
        assert seen.composition.reach == whole.composition.reach
        assert not torch.equal(seen.composition.weights, whole.composition.weights)


def test_at_least_one_patch_is_kept() -> None:
    stream = Stream('view1', torch.zeros(1, 3, SIDE, SIDE), Composition.identity(1))
    sizes = {keep: stream.dropped(keep, PATCH, torch.Generator()).tokens.shape for keep in (0.01, 0.55)}
    assert sizes == {0.01: (1, 1), 0.55: (1, 9)}


def test_shares_of_whole_sums_do_not_depend_on_patches() -> None:
    mixed, composition = MIXERS.build(dict(type='Mixup'))(torch.randn(BATCH, 3, SIDE, SIDE))
    seen = Stream('mix1', mixed, composition).dropped(0.5, PATCH, torch.Generator())
    assert seen.composition is composition


def test_draws_are_functions_of_seed_step_rank_and_stream() -> None:
    model = hosts.build(hosts.dropping(hosts.moco_v3()))

    def kept(name: str, *key: int) -> Tensor:
        model.begin_step(StepKey(*key))
        online, _ = model.build_streams(hosts.crops(model, 400))
        return online[name].tokens

    first = kept('view1', 0, 5, 0)
    torch.manual_seed(1)
    assert torch.equal(first, kept('view1', 0, 5, 0))
    others = [kept('view2', 0, 5, 0), *(kept('view1', *key) for key in [(1, 5, 0), (0, 6, 0), (0, 5, 1)])]
    assert not any(torch.equal(first, other) for other in others)
    counts = first.flatten().bincount(minlength=16)  # binomial, 200 expected, deviation 10
    assert first.shape == (400, 8) and counts.min() > 150 and counts.max() < 250


def cross_entropy(queries: Tensor, keys: Tensor) -> Tensor:
    similarity = functional.normalize(queries, dim=1) @ functional.normalize(keys, dim=1).T
    return 2 * 0.2 * functional.cross_entropy(similarity / 0.2, torch.arange(BATCH))


@pytest.mark.parametrize('target', ['EMA', 'StopGrad', 'Shared'])
@pytest.mark.parametrize('both', [True, False])
def test_keys_are_whole_unless_they_are_encoded_with_a_query(target: str, both: bool) -> None:
    config = hosts.moco_v3() | dict(target=dict(type=target))
    config['terms'] = config['terms'][: 2 if both else 1]
    torch.manual_seed(0)
    model = hosts.build(hosts.dropping(config)).double()
    torch.nn.init.normal_(model.backbone.pos_embed)
    model.target.copy_weights(model.backbone, model.neck)
    views = hosts.crops(model, BATCH)
    model.begin_step(StepKey(0, 3, 0))
    losses = model(views, mode='loss')
    online, _ = model.build_streams(views)
    first, second = online['view1'], online['view2']
    query = model.predictor(model.neck(model.backbone(first.images, tokens=first.tokens)[0]))
    tokens = second.tokens if both and target != 'EMA' else None
    key = model.neck(model.backbone(second.images, tokens=tokens)[0])  # the target still has the same weights
    torch.testing.assert_close(losses['loss_view1_view2'], cross_entropy(query, key))
    assert first.tokens.shape == (BATCH, 8) and (second.tokens is not None) == both
