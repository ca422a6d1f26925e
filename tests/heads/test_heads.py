"""Projection and prediction heads."""

import pytest
import torch
from mmpretrain.models.necks import NonLinearNeck
from torch.nn import functional

from mixcl.heads import DINOHead, MLPHead, PlainHead


@pytest.mark.parametrize(
    ('settings', 'theirs'),
    [
        (dict(num_layers=3), dict(num_layers=3, with_last_bn_affine=False)),
        (dict(bias=True, last_affine=True), dict(with_bias=True)),
        (
            dict(last_norm=False, bias=True, last_bias=True),
            dict(with_bias=True, with_last_bias=True, with_last_bn=False),
        ),
    ],
)
def test_mlp_head_is_mmpretrains_neck(settings: dict, theirs: dict) -> None:
    head = MLPHead(in_channels=6, hidden_channels=8, out_channels=4, **settings)
    neck = NonLinearNeck(6, 8, 4, with_avg_pool=False, norm_cfg=dict(type='BN1d'), **theirs)
    assert list(head.state_dict()) == list(neck.state_dict())
    neck.load_state_dict(head.state_dict())
    features = torch.randn(5, 6)
    torch.testing.assert_close(head(features), neck((features,))[0])


def test_plain_head_has_one_or_two_linear_layers() -> None:
    features = torch.randn(5, 6)
    one, two = PlainHead(6, 4), PlainHead(6, 4, hidden_channels=8)
    torch.testing.assert_close(one(features), functional.linear(features, one[0].weight, one[0].bias))
    hidden = functional.linear(features, two[0].weight, two[0].bias).relu()
    torch.testing.assert_close(two(features), functional.linear(hidden, two[2].weight, two[2].bias))
    assert (len(one), len(two)) == (1, 3)


@pytest.mark.parametrize('head', [MLPHead(6, 8, 4), PlainHead(6, 4), DINOHead(6, 4, 8, bottleneck_channels=3)])
def test_maps_are_averaged_over_space(head: torch.nn.Module) -> None:
    maps = torch.randn(5, 6, 2, 3)
    torch.testing.assert_close(head(maps), head(maps.mean(dim=(2, 3))))


def test_dino_head_compares_directions() -> None:
    """With prototypes of length 1 the outputs are cosines between the bottleneck and the prototypes."""
    head = DINOHead(6, 10, hidden_channels=8, bottleneck_channels=3)
    features = torch.randn(5, 6)
    first, _, second, _, third = head.layers
    bottleneck = third(functional.gelu(second(functional.gelu(first(features)))))
    direction = head.prototypes.parametrizations.weight.original1
    expected = functional.cosine_similarity(bottleneck[:, None], direction[None], dim=2)
    torch.testing.assert_close(head(features), expected)


@pytest.mark.parametrize('normalised', [False, True])
def test_lengths_of_prototypes_train_only_where_they_are_not_fixed(normalised: bool) -> None:
    head = DINOHead(6, 10, hidden_channels=8, bottleneck_channels=3, normalised_prototypes=normalised)
    head(torch.randn(5, 6)).square().sum().backward()
    optimiser = torch.optim.SGD([p for p in head.parameters() if p.requires_grad], lr=0.5)
    optimiser.step()
    lengths = head.prototypes.weight.norm(dim=1)
    assert torch.allclose(lengths, torch.ones(10)) == normalised


def test_dino_head_starts_narrow() -> None:
    """DINO: truncated normal of standard deviation .02, zero biases, prototypes of length 1."""
    head = DINOHead(400, 10, hidden_channels=300, bottleneck_channels=200)
    for layer in head.layers[::2]:
        assert layer.weight.std().item() == pytest.approx(0.02, rel=0.05) and layer.bias.abs().max() == 0
    torch.testing.assert_close(head.prototypes.weight.norm(dim=1), torch.ones(10))
