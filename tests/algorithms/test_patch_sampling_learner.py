"""The loss of sampled patches, term by term and by hand; parts that cannot drop patches are refused."""

import pytest
import tiny
import torch
from mmpretrain.structures import DataSample
from torch import Tensor
from torch.nn import functional

from mixcl.errors import UserError

BATCH, KEPT, TEMPERATURE = 6, 5, 0.1
TERMS = [('view1', 'view2', 1.0), ('view2', 'view1', 1.0)]


def learner(**changes: object) -> torch.nn.Module:
    torch.manual_seed(0)
    settings = dict(
        type='PatchSamplingLearner',
        mixer=None,
        streams=None,
        terms=TERMS,
        objective=dict(type='InfoNCE', temperature=TEMPERATURE),
    )
    model = tiny.build(**{**settings, **changes}).double()
    torch.nn.init.normal_(model.backbone.pos_embed)
    return model


@pytest.fixture
def views() -> list[Tensor]:
    return list(torch.randn(2, BATCH, 3, 8, 8, generator=torch.Generator().manual_seed(1), dtype=torch.float64))


@pytest.fixture
def tokens() -> Tensor:
    """(BATCH, 2, KEPT)"""
    rows = torch.rand(BATCH, 2, 16, generator=torch.Generator().manual_seed(2))
    return rows.argsort(dim=2)[..., :KEPT]


def cross_entropy(queries: Tensor, keys: Tensor) -> Tensor:
    similarity = functional.normalize(queries, dim=1) @ functional.normalize(keys, dim=1).T
    return functional.cross_entropy(similarity / TEMPERATURE, torch.arange(BATCH))


@pytest.mark.parametrize('target', [dict(type='StopGrad'), dict(type='EMA', momentum=0.9)])
def test_queries_and_keys_see_the_patches_of_their_own_view(target: dict, views: list[Tensor], tokens: Tensor) -> None:
    model = learner(target=target)
    if target['type'] == 'EMA':
        torch.nn.init.normal_(model.target.backbone.pos_embed)
    own = model.target if target['type'] == 'EMA' else model
    samples = [DataSample(tokens=row) for row in tokens]
    losses = model(views, samples, mode='loss')
    parts = [(view, tokens[:, index]) for index, view in enumerate(views)]
    queries = [model.predictor(model.neck(model.backbone(*part)[0])) for part in parts]
    with torch.no_grad():
        keys = [own.neck(own.backbone(*part)[0]) for part in parts]
    torch.testing.assert_close(losses['loss_view1_view2'], cross_entropy(queries[0], keys[1]))
    torch.testing.assert_close(losses['loss_view2_view1'], cross_entropy(queries[1], keys[0]))
    other = [DataSample(tokens=row.flip(0)) for row in tokens]
    assert abs(model(views, other, mode='loss')['loss_view1_view2'] - losses['loss_view1_view2']) > 1e-3


def test_features_for_evaluation_are_those_of_all_patches(views: list[Tensor]) -> None:
    model = learner()
    torch.testing.assert_close(model(views[0]), model.backbone(views[0])[0])


@pytest.mark.parametrize(
    ('changes', 'named'),
    [
        (dict(views=dict(view1=1, view2=2)), 'two views of one crop each'),
        (dict(swap_views=0.5), r'swap_views=0\.5'),
        (dict(backbone=dict(type='mmpretrain.ResNet', depth=18)), 'ResNet cannot drop patches; use ContrastiveViT'),
        (dict(target=dict(type='ShuffledEMA')), 'ShuffledEMA cannot drop patches.*use EMA or StopGrad'),
    ],
)
def test_parts_that_cannot_drop_patches_are_refused(changes: dict, named: str) -> None:
    with pytest.raises(UserError, match=named):
        learner(**changes)


@pytest.mark.parametrize('samples', [None, [DataSample()] * BATCH, [DataSample(tokens=torch.zeros(2, 4, 3))] * BATCH])
def test_samples_without_patches_of_one_chunk_are_refused(samples: list | None, views: list[Tensor]) -> None:
    with pytest.raises(UserError, match='ChunkedPretrainLoop'):
        learner()(views, samples, mode='loss')
