"""The engine: PatchMix written out, which encoder sees what and how often, and what a step logs."""

import copy

import pytest
import tiny
import torch
from torch.nn import functional

from mixcl.algorithms import StepKey
from mixcl.errors import UserError
from mixcl.randomness import generator

BATCH = 7


def views(seed: int = 0, batch: int = BATCH) -> list[torch.Tensor]:
    rng = torch.Generator().manual_seed(seed)
    return [torch.randn(batch, 3, 8, 8, generator=rng) for _ in range(2)]


def patchmix_by_hand(model, crops, key) -> dict[str, torch.Tensor]:
    """PatchMix's three terms written out with dense targets and one forward per stream, as the paper's figure 2."""
    mixer, batch = model.recipe.mixer, len(crops[0])
    plan = mixer.plan(batch, generator(*key, 'plan'))
    mix1, mix2 = (mixer.place(crop, plan, generator(*key, f'mix{i + 1}', 0))[0] for i, crop in enumerate(crops))

    def query(images):
        return functional.normalize(model.predictor(model.neck(model.backbone(images)[-1])), dim=1)

    def momentum_key(images):
        with torch.no_grad():
            return functional.normalize(model.target.neck(model.target.backbone(images)[-1]), dim=1)

    q1, q2m = query(crops[0]), query(mix2)
    k1, k2, k1m = momentum_key(crops[0]), momentum_key(crops[1]), momentum_key(mix1)
    membership = torch.zeros(batch, batch, dtype=q1.dtype)
    for i in range(batch):
        for m in range(plan.num_mix):
            membership[i, (i + m) % batch] += 1 / plan.num_mix
    band = membership @ membership.T  # equals the scatter-added window of Eq. 11, divided by M

    def cross_entropy(q, k, target):
        return -(target * (q @ k.T / 0.2).log_softmax(1)).sum(1).mean()

    return dict(
        loss_view1_view2=cross_entropy(q1, k2, torch.eye(batch, dtype=q1.dtype)),
        loss_mix2_view1=0.5 * cross_entropy(q2m, k1, membership),
        loss_mix2_mix1=0.5 * cross_entropy(q2m, k1m, band),
    )


def test_patchmix_equals_the_loss_written_out_with_its_gradients():
    model = tiny.build().double()
    reference = copy.deepcopy(model)
    crops, key = [view.double() for view in views()], StepKey(3, 11, 0)
    model.begin_step(key)
    losses = model(crops, mode='loss')
    expected = patchmix_by_hand(reference, crops, key)
    for name, value in expected.items():
        torch.testing.assert_close(losses[name], value)
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    sum(expected.values()).backward()
    for parameter, other in zip(model.parameters(), reference.parameters(), strict=True):
        if parameter.requires_grad:
            # The class token starts nearly at 0, which layer norm amplifies: rounding shows.
            torch.testing.assert_close(parameter.grad, other.grad, rtol=1e-5, atol=1e-6)


def test_without_momentum_there_are_four_encoder_passes():
    """PatchMix's no-momentum frame: q1 gives k1; x2 and mix1 are encoded without gradient."""
    assert tiny.build().passes_per_image() == (2, 3)
    model = tiny.build(target=dict(type='StopGrad'))
    assert model.passes_per_image() == (2, 2)
    rows = []
    model.backbone.register_forward_hook(lambda module, inputs, output: rows.append(len(inputs[0])))
    losses = model(views(), mode='loss')
    assert rows == [2 * BATCH, 2 * BATCH]
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    assert all(p.grad is not None for p in model.parameters()) and not list(model.target.parameters())
    assert model.encoder_names == ('online',)


def test_local_crops_are_stacked_and_mixed_each_on_its_own():
    model = tiny.build(
        views=dict(view1=1, view2=1, local=3),
        streams=dict(local_mix=dict(mix='local')),
        terms=[('view1', 'view2', 1.0), ('local', 'view1', 1.0), ('local_mix', 'view1', 1.0)],
    )
    crops = views() + [torch.randn(BATCH, 3, 4, 4) for _ in range(3)]
    streams = model.recipe.build(crops, {'local', 'local_mix', 'view1'}, StepKey(0, 0, 0))
    assert streams['local'].images.shape == (3 * BATCH, 3, 4, 4)
    assert torch.equal(streams['local'].images[BATCH : 2 * BATCH], crops[3])
    mixed = streams['local_mix'].images.chunk(3)
    own = [(part == crop).flatten(2).all(1)[0] for part, crop in zip(mixed, crops[2:], strict=True)]
    assert len({tuple(mask.tolist()) for mask in own}) > 1, 'every crop has a permutation of its own'
    assert model.passes_per_image() == (7, 2)
    losses = model(crops, mode='loss')
    assert all(torch.isfinite(value) for value in losses.values())


def test_feature_std_shows_a_collapse():
    model = tiny.build()
    healthy = model(views(), mode='loss')['feature_std']
    torch.nn.init.zeros_(model.backbone.ln1.weight)
    torch.nn.init.ones_(model.backbone.ln1.bias)
    assert healthy > 0.1 and model(views(), mode='loss')['feature_std'] < 1e-3


def test_the_target_starts_from_the_initialised_online_weights_and_both_give_features():
    model = tiny.build().eval()
    images = views()[0]
    online = model.extract_features(images)
    assert torch.equal(online, model.extract_features(images, 'target')) and online.shape == (BATCH, 16)
    with pytest.raises(UserError, match="no 'momentum' encoder; it has online, target"):
        model.extract_features(images, 'momentum')
