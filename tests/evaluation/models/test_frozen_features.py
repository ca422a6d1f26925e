"""Features of frozen backbones equal those computed by hand."""

import pytest
import torch
from mmpretrain.models import ImageClassifier
from torch import nn
from torch.nn import functional

from mixcl.encoders import PooledOutput
from mixcl.errors import UserError
from mixcl.evaluation.models import FrozenFeatures
from mixcl.registry import MODELS

VIT = dict(
    type='mmpretrain.VisionTransformer',
    arch=dict(embed_dims=16, num_layers=5, num_heads=2, feedforward_channels=32),
    img_size=8,
    patch_size=2,
    drop_path_rate=0.5,
)
TIMM = dict(type='TimmBackbone', name='vit_tiny_patch16_224', arguments=dict(depth=3, img_size=32, patch_size=8))
LOSS = dict(type='mmpretrain.CrossEntropyLoss')
RESNET = dict(type='mmpretrain.ResNet', depth=50, base_channels=4, stem_channels=4)


def frozen(backbone: dict, name: str | None = None, **settings: object) -> FrozenFeatures:
    """Build features with random normalisation, so that a missing norm shows."""
    torch.manual_seed(0)
    model = FrozenFeatures(backbone, name and dict(type=name, **settings))
    for module in model.modules():
        if isinstance(module, (nn.LayerNorm, nn.BatchNorm2d)):
            nn.init.normal_(module.weight, 1, 0.3)
            nn.init.normal_(module.bias, 0, 0.3)
    return model


def images(size: int, number: int = 3) -> torch.Tensor:
    return torch.randn(number, 3, size, size, generator=torch.Generator().manual_seed(1))


def tokens_of_blocks(model: nn.Module, batch: torch.Tensor) -> tuple[torch.Tensor, ...]:
    """Return the output of each block of mmpretrain's transformer, before the final norm."""
    reference = MODELS.build(dict(VIT, out_indices=range(5), out_type='raw', final_norm=False))
    reference.load_state_dict(model.state_dict(), strict=False)
    reference.eval()
    return reference(batch)


@pytest.mark.parametrize('blocks', [1, 5])
def test_tokens_of_the_last_blocks(blocks: int) -> None:
    model = frozen(VIT, 'LastClassTokens', blocks=blocks)
    outputs = [model.backbone.ln1(x) for x in tokens_of_blocks(model.backbone, images(8))[-blocks:]]
    (found,) = model(images(8))
    torch.testing.assert_close(found, torch.cat([x[:, 0] for x in outputs], dim=1))
    assert model.channels(8) == (blocks * 16,)
    averaged = frozen(VIT, 'ClassTokenAndAverage', blocks=blocks)(images(8))[0]
    torch.testing.assert_close(averaged, torch.cat([found, outputs[-1][:, 1:].mean(dim=1)], dim=1))


def test_tokens_of_timm() -> None:
    model = frozen(TIMM, 'LastClassTokens', blocks=2)
    layers = model.backbone.model.get_intermediate_layers(images(32), 2, norm=True, return_prefix_tokens=True)
    torch.testing.assert_close(model(images(32))[0], torch.cat([prefix[:, 0] for _, prefix in layers], dim=1))
    averaged = frozen(TIMM, 'ClassTokenAndAverage')
    patches, prefix = layers[-1]
    torch.testing.assert_close(averaged(images(32))[0], torch.cat([prefix[:, 0], patches.mean(dim=1)], dim=1))


def test_output_is_the_class_token_or_the_averaged_map() -> None:
    vit, resnet, timm = frozen(VIT), frozen(RESNET), frozen(TIMM)
    torch.testing.assert_close(vit(images(8))[0], vit.backbone.ln1(tokens_of_blocks(vit.backbone, images(8))[-1])[:, 0])
    torch.testing.assert_close(resnet(images(32))[0], resnet.backbone(images(32))[-1].mean(dim=(2, 3)))
    torch.testing.assert_close(timm(images(32))[0], timm.backbone.model(images(32)))
    assert (vit.channels(8), resnet.channels(64), timm.channels(32)) == ((16,), (128,), (192,))


def test_sizes_of_the_stages_of_resnet50_are_those_of_openselfsup() -> None:
    model = FrozenFeatures(dict(type='mmpretrain.ResNet', depth=50), dict(type='PooledStages')).to('meta')
    grid = FrozenFeatures(dict(type='mmpretrain.ResNet', depth=50), dict(type='PooledGrid')).to('meta')
    assert model.channels(224) == (9216, 9216, 8192, 9216, 8192)
    assert grid.channels(224) == (8192,)


@pytest.mark.parametrize('deep_stem', [False, True])
def test_stages_are_the_pooled_maps(deep_stem: bool) -> None:
    windows = [(10, 10, 4), (16, 8, 0), (13, 5, 0), (8, 3, 0), (6, 1, 0)]
    model = frozen(dict(RESNET, deep_stem=deep_stem), 'PooledStages')
    net, x = model.backbone, images(224, 1)
    maps = [net.stem(x) if deep_stem else net.relu(net.bn1(net.conv1(x)))]
    x = net.maxpool(maps[0])
    for stage in (net.layer1, net.layer2, net.layer3, net.layer4):
        x = stage(x)
        maps.append(x)
    expected = [functional.avg_pool2d(x, *window).flatten(1) for x, window in zip(maps, windows, strict=True)]
    torch.testing.assert_close(model(images(224, 1)), tuple(expected))


def test_a_grid_by_hand() -> None:
    model = frozen(RESNET, 'PooledGrid', kernel=1)
    (last,) = model.backbone(images(64))
    torch.testing.assert_close(model(images(64))[0], last.flatten(1))
    torch.testing.assert_close(frozen(RESNET, 'PooledGrid', kernel=2)(images(64))[0], last.mean(dim=(2, 3)))


@pytest.mark.parametrize(
    ('backbone', 'feature', 'message'),
    [
        (RESNET, dict(type='LastClassTokens'), 'needs a vision transformer with a class token, not a ResNet'),
        (VIT, dict(type='LastClassTokens', blocks=6), 'blocks must lie between 1 and 5, not 6'),
        (VIT, dict(type='PooledStages'), 'which a VisionTransformer does not have'),
        (dict(RESNET, num_stages=3, strides=(1, 2, 2), dilations=(1, 1, 1), out_indices=(2,)),
         dict(type='PooledStages'), 'the stem and 4 stages of a ResNet'),
    ],
)  # fmt: skip
def test_features_that_a_backbone_lacks(backbone: dict, feature: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        FrozenFeatures(backbone, feature)


def test_outputs_of_another_shape() -> None:
    with pytest.raises(UserError, match=r'VisionTransformer gives one vector for every token, of shape .* 17, 16'):
        frozen(dict(VIT, out_type='raw'))(images(8))
    with pytest.raises(UserError, match='a map of 8x8 cannot be pooled by windows of 16: use larger images'):
        frozen(RESNET, 'PooledStages')(images(32))
    with pytest.raises(UserError, match=r'PooledGrid pools a map, but VisionTransformer gives .*\(3, 16\)'):
        frozen(VIT, 'PooledGrid')(images(8))


@pytest.mark.parametrize(('backbone', 'size', 'channels'), [(VIT, 8, 16), (RESNET, 32, 128)])
def test_nothing_of_it_trains_with_the_head_of_a_classifier(backbone: dict, size: int, channels: int) -> None:
    classifier = ImageClassifier(
        backbone=dict(type='mixcl.FrozenFeatures', backbone=backbone),
        head=dict(type='mmpretrain.LinearClsHead', num_classes=3, in_channels=channels, loss=LOSS),
        data_preprocessor=dict(type='mmpretrain.ClsDataPreprocessor'),
    )
    model = classifier.train().backbone
    assert not any(module.training for module in model.modules())
    assert not any(parameter.requires_grad for parameter in model.parameters())
    before = {name: value.clone() for name, value in model.state_dict().items()}
    optimizer = torch.optim.SGD(classifier.parameters(), lr=0.1, weight_decay=0.1, momentum=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        functional.cross_entropy(classifier(images(size)), torch.arange(3)).backward()
        optimizer.step()
    torch.testing.assert_close(dict(model.state_dict()), before, rtol=0, atol=0)
    assert classifier.head.fc.weight.grad.abs().sum() > 0


def test_pooled_output_averages_maps_and_passes_vectors_on() -> None:
    maps, vectors = torch.arange(24.0).reshape(2, 3, 2, 2), torch.randn(2, 5)
    pooled, passed = PooledOutput()((maps, vectors))
    assert pooled.tolist() == [[1.5, 5.5, 9.5], [13.5, 17.5, 21.5]]
    assert passed is vectors
