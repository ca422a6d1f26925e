"""The loss of sampled patches, term by term and by hand."""

import hosts
import pytest
import torch
from mmpretrain.structures import DataSample
from torch import Tensor, nn
from torch.nn import functional

from mixcl.errors import UserError

BATCH = 6


def learner(**changes: object) -> nn.Module:
    torch.manual_seed(0)
    model = hosts.build(hosts.aps(**changes)).double()
    for encoder in (model, model.target):
        if hasattr(encoder, 'backbone'):
            nn.init.normal_(encoder.backbone.pos_embed)
    return model


def cross_entropy(queries: Tensor, keys: Tensor) -> Tensor:
    similarity = functional.normalize(queries, dim=1) @ functional.normalize(keys, dim=1).T
    return functional.cross_entropy(similarity / 0.1, torch.arange(BATCH))


@pytest.mark.parametrize('target', [dict(type='StopGrad'), dict(type='EMA', momentum=0.9)])
def test_queries_and_keys_see_the_patches_of_their_own_view(target: dict) -> None:
    model = learner(target=target)
    own = model.target if target['type'] == 'EMA' else model
    views, samples = hosts.crops(model, BATCH), hosts.samples(model, BATCH)
    losses = model(views, samples, mode='loss')
    parts = list(zip(views, torch.stack([sample.tokens for sample in samples], dim=1), strict=True))
    queries = [model.predictor(model.neck(model.backbone(images, tokens=tokens)[0])) for images, tokens in parts]
    with torch.no_grad():
        keys = [own.neck(own.backbone(images, tokens=tokens)[0]) for images, tokens in parts]
    torch.testing.assert_close(losses['loss_view1_view2'], cross_entropy(queries[0], keys[1]))
    torch.testing.assert_close(losses['loss_view2_view1'], cross_entropy(queries[1], keys[0]))
    other = [DataSample(tokens=sample.tokens.flip(0)) for sample in samples]
    assert abs(model(views, other, mode='loss')['loss_view1_view2'] - losses['loss_view1_view2']) > 1e-3


def test_features_for_evaluation_are_those_of_all_patches() -> None:
    model = learner()
    view = hosts.crops(model, BATCH)[0]
    torch.testing.assert_close(model(view), model.backbone(view)[0])


@pytest.mark.parametrize('samples', [None, [DataSample()] * BATCH, [DataSample(tokens=torch.zeros(2, 4, 3))] * BATCH])
def test_samples_without_patches_of_one_chunk_are_refused(samples: list | None) -> None:
    model = learner()
    with pytest.raises(UserError, match='ChunkedPretrainLoop'):
        model(hosts.crops(model, BATCH), samples, mode='loss')
