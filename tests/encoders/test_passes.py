"""Rows that share a forward pass and batch statistics."""

import hosts
import pytest
import torch
from torch import nn

from mixcl.composition import Composition
from mixcl.encoders import passes
from mixcl.encoders.passes import backbone_features, project
from mixcl.encoders.stream import RowsOf, Stream


def convolution() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4))


def rows(*joint: str) -> dict[RowsOf, Stream]:
    """Return streams of which some share a group."""
    random = torch.Generator().manual_seed(0)
    sizes = dict(view1=(4, 8), view2=(4, 8), mix1=(2, 8), local=(8, 4))
    images = {name: torch.randn(n, 3, size, size, generator=random) for name, (n, size) in sizes.items()}
    return {
        RowsOf(name): Stream(name, batch, Composition.identity(len(batch)), group=0 if name in joint else number)
        for number, (name, batch) in enumerate(images.items(), 1)
    }


def test_streams_have_statistics_of_their_own_unless_they_are_joint() -> None:
    given, backbone = rows('mix1', 'view1'), convolution()
    features = backbone_features(backbone, given)
    assert list(features) == list(given)
    for names in (['view1', 'mix1'], ['view2'], ['local']):
        group = [RowsOf(name) for name in names]
        together = backbone(torch.cat([given[name].images for name in group])).mean(dim=(2, 3))
        torch.testing.assert_close(torch.cat([features[name] for name in group]), together)


def test_heads_share_statistics_within_a_group_of_different_sizes() -> None:
    """A convolution encodes each size by itself; the head sees the group together."""
    given, backbone, head = rows('view1', 'local'), convolution(), nn.BatchNorm1d(4)
    features = backbone_features(backbone, given)
    outputs = project(head, features, given)
    view1, view2, local = map(RowsOf, ('view1', 'view2', 'local'))
    expected = head(torch.cat([features[view1], features[local]]))
    torch.testing.assert_close(torch.cat([outputs[view1], outputs[local]]), expected)
    torch.testing.assert_close(outputs[view2], head(features[view2]))


@pytest.mark.parametrize('host', ['moco_v3', 'dino', 'simclr'])
def test_one_batch_for_all_streams_is_one_batch_for_each(monkeypatch: pytest.MonkeyPatch, host: str) -> None:
    """Losses and gradients of a transformer whose heads have batch statistics stay the same."""
    first, second = (hosts.build(hosts.HOSTS[host](hosts.MIXERS['cutmix'])).double() for _ in range(2))
    second.load_state_dict(first.state_dict())
    found = []
    for model, separate in ((first, False), (second, True)):
        rows = []
        model.backbone.register_forward_pre_hook(lambda _, inputs, rows=rows: rows.append(len(inputs[0])))
        monkeypatch.setattr(passes, 'has_batch_norm', lambda module, separate=separate: separate)
        losses = model(hosts.crops(model, 6), mode='loss')
        model.parse_losses(losses)[0].backward()
        gradients = {name: p.grad for name, p in model.named_parameters() if p.requires_grad}
        found.append((losses, gradients, len(rows)))
    (merged, gradients, few), (apart, other_gradients, many) = found
    assert few < many
    torch.testing.assert_close((merged, gradients), (apart, other_gradients), rtol=1e-6, atol=1e-9)
