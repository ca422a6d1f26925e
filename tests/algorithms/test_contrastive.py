"""The learner: rows of its table, which encoder sees what and how often, and what it refuses."""

import copy

import hosts
import pytest
import tiny
import torch
from torch import Tensor, nn

from mixcl.algorithms import StepKey, Term
from mixcl.composition import Composition
from mixcl.errors import UserError
from mixcl.mixers import Mixup

BATCH = 7


def views() -> list[Tensor]:
    return [crop.float() for crop in hosts.crops(tiny.build(), BATCH)]


def total(losses: dict[str, Tensor]) -> Tensor:
    return sum(value for name, value in losses.items() if 'loss' in name)


@pytest.mark.parametrize('negatives', [[], ['own'], ['view1'], ['queue', dict(type='HardMix', hardest=3)]])
def test_options_of_a_row_replace_those_of_the_objective(negatives: list) -> None:
    options = dict(temperature=0.05, among='batch', smoothing=0.1, negatives=negatives)
    rows = [('view1', 'view2', 1.0), ('mix1', 'view2', 1.0)]
    plain = hosts.moco_v2(hosts.MIXERS['mixup'])
    without = {} if 'queue' in negatives else dict(memory=None)  # nothing would use the queue
    everywhere = hosts.build(plain, terms=rows, objective=dict(type='InfoNCE', gather=False, **options), **without)
    in_one_row = hosts.build(plain, terms=[rows[0], (*rows[1], options)])
    in_one_row.load_state_dict(everywhere.state_dict(), strict=False)
    crops = [view[:6] for view in views()]
    one, other = (model(crops, mode='loss') for model in (everywhere, in_one_row))
    assert torch.equal(one['loss_mix1_view2'], other['loss_mix1_view2'])
    assert abs(one['loss_view1_view2'] - other['loss_view1_view2']) > 1e-3


@pytest.mark.parametrize(
    ('rule', 'of_views', 'of_mixtures'),
    [
        ('overlap', [[0.7, 0.3], [0.4, 0.6]], [[1 / 1.7, 0.7 / 1.7], [0.7 / 1.7, 1 / 1.7]]),
        ('even', [[0.5, 0.5], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]]),
        ('owner', [[1, 0], [0, 1]], [[1, 0], [0, 1]]),
    ],
)
def test_fixed_lambda_by_the_rule_of_a_row(rule: str, of_views: list, of_mixtures: list) -> None:
    """SDMP's ablation of lambda."""
    mixtures = Composition(torch.tensor([[0, 1], [1, 0]]), torch.tensor([[0.7, 0.3], [0.6, 0.4]]))
    for keys, expected in ((Composition.identity(2), of_views), (mixtures, of_mixtures)):
        target = Term('mix1', 'key', 1.0, target=rule).soft_target(mixtures, keys, start=0)
        torch.testing.assert_close(target.dense(2), torch.tensor(expected, dtype=torch.float32))


def test_without_momentum_there_are_four_encoder_passes():
    """PatchMix's no-momentum frame: q1 gives k1; x2 and mix1 are encoded without gradient."""
    assert tiny.build().passes_per_image() == (2, 3)
    assert hosts.build(hosts.simclr()).passes_per_image() == (2, 0)
    model = tiny.build(target=dict(type='StopGrad'))
    assert model.passes_per_image() == (2, 2)
    rows = []
    model.backbone.register_forward_hook(lambda module, inputs, output: rows.append(len(inputs[0])))
    losses = model(views(), mode='loss')
    assert rows == [2 * BATCH, 2 * BATCH]
    total(losses).backward()
    assert all(p.grad is not None for p in model.parameters()) and not list(model.target.parameters())
    assert model.encoder_names == ('online',)


def test_local_crops_are_stacked_and_mixed_each_on_its_own():
    model = tiny.build(
        views=dict(view1=1, view2=1, local=3),
        streams=dict(local_mix=dict(mix='local')),
        terms=[('view1', 'view2', 1.0), ('local', 'view1', 1.0), ('local_mix', 'view1', 1.0)],
    )
    crops = hosts.crops(model, BATCH)
    streams = model.recipe.build(crops, {'local', 'local_mix', 'view1'}, StepKey(0, 0, 0))
    assert streams['local'].images.shape == (3 * BATCH, 3, 4, 4)
    assert torch.equal(streams['local'].images[BATCH : 2 * BATCH], crops[3])
    mixed = streams['local_mix'].images.chunk(3)
    own = [(part == crop).flatten(2).all(1)[0] for part, crop in zip(mixed, crops[2:], strict=True)]
    assert len({tuple(mask.tolist()) for mask in own}) > 1, 'every crop has a permutation of its own'
    assert model.passes_per_image() == (7, 2)


def test_the_target_starts_from_the_initialised_online_weights_and_both_give_features():
    model = tiny.build().eval()
    images = views()[0]
    online = model.extract_features(images)
    assert torch.equal(online, model.extract_features(images, 'target')) and online.shape == (BATCH, 16)
    with pytest.raises(UserError, match="no 'momentum' encoder; it has online, target"):
        model.extract_features(images, 'momentum')


def test_what_would_be_averaged_or_ignored_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    model = hosts.build(hosts.moco_v2())
    for made in (lambda *_, **__: torch.zeros(6, 1), lambda *_, **__: torch.zeros(()), lambda *_, **__: None):
        monkeypatch.setattr(model.objective, 'forward', made)
        with pytest.raises(UserError, match=r'InfoNCE gives .* it must give one loss per query row, \(6,\)'):
            model([view[:6] for view in views()], mode='loss')
    monkeypatch.setattr(model.backbone, 'forward', torch.no_grad()(model.backbone.forward))
    with pytest.raises(UserError, match='carry no gradient, so it would not be trained'):
        model([view[:6] for view in views()], mode='loss')
    with pytest.raises(UserError, match=r"the queue 'queue', but no row of model.terms takes negatives from it"):
        hosts.build(hosts.moco_v2(), objective=dict(type='InfoNCE', gather=False))


class Darkened(Mixup, nn.Module):
    def __init__(self) -> None:
        nn.Module.__init__(self)
        Mixup.__init__(self)
        self.brightness = nn.Parameter(torch.ones(()))

    def place(self, images: Tensor, *plan: object) -> tuple[Tensor, Composition]:
        mixed, composition = super().place(images, *plan)
        return mixed * self.brightness, composition


def test_weights_of_a_mixer_are_trained_and_saved() -> None:
    model = hosts.build(hosts.moco_v2(dict(type=Darkened)))
    total(model([view[:6] for view in views()], mode='loss')).backward()
    found = dict(model.named_parameters())['own_parts.0.brightness']
    assert found is model.recipe.mixer.brightness and found.grad.abs() > 0


@pytest.mark.parametrize(('mixer', 'moves_pixels'), [(None, True), ('patchmix', True), ('mixup', False)])
@pytest.mark.parametrize('backbone', hosts.BACKBONES)
def test_views_in_half_precision_change_no_bit(mixer: str | None, moves_pixels: bool, backbone: str) -> None:
    statistics = dict(mean=[100.0, 110.0, 120.0], std=[51.0, 52.0, 53.0])
    model = hosts.build(
        hosts.moco_v3(hosts.MIXERS[mixer] if mixer else None, backbone),
        data_preprocessor=dict(type='mixcl.ViewPreprocessor', **statistics),
    )
    assert model.data_preprocessor.follows_autocast == moves_pixels
    pixels = [torch.randint(256, (BATCH, 3, 8, 8), dtype=torch.uint8) for _ in range(2)]
    found = []
    for follows in (False, moves_pixels):
        trained = copy.deepcopy(model)
        trained.data_preprocessor.follows_autocast = follows
        with torch.autocast('cpu', torch.bfloat16):
            batch = trained.data_preprocessor(dict(inputs=pixels), True)
            total(trained(**batch, mode='loss')).backward()
        assert {view.dtype for view in batch['inputs']} == {torch.bfloat16 if follows else torch.float32}
        found.append([p.grad for p in trained.parameters() if p.grad is not None])
    torch.testing.assert_close(*found, rtol=0, atol=0)
