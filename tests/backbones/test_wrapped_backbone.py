"""Backbones of other libraries: training in a host, depths of layers, frozen blocks, low-rank updates, channels."""

import copy
import sys

import hosts
import pytest
import timm
import torch
import torchvision
from backbones.small_models import MODELS_AND_WIDTHS, images
from timm.optim import param_groups_layer_decay
from torch import nn

from mixcl.backbones import low_rank
from mixcl.backbones.wrapped_backbone import WrappedBackbone
from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import PretrainedBackbone, load_pretrained

PATCHMIX = dict(type='PatchMix', num_mix=2, patch_size=8)


def learner(name: str, size: int = 32, **settings: object) -> tuple[nn.Module, int]:
    """Return PatchMix with the named backbone, and the size of its images."""
    config, width = MODELS_AND_WIDTHS[name]
    size = config.get('arguments', {}).get('img_size', size)
    neck = hosts.moco_v3()['neck'] | dict(in_channels=width)
    mixer = PATCHMIX | dict(patch_size=7 if size == 28 else 8)
    return hosts.build(hosts.moco_v3(mixer), backbone=config | settings, neck=neck), size


def gradients(model: nn.Module, size: int, channels: int = 3) -> dict[str, bool]:
    """Return which parameters of the backbone get a gradient other than zero in a step."""
    losses = model([images(size, channels=channels), images(size, channels=channels).flip(3)], mode='loss')
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)
    return {
        name: parameter.grad is not None and bool(parameter.grad.any())
        for name, parameter in model.backbone.named_parameters()
    }


@pytest.mark.parametrize('name', MODELS_AND_WIDTHS)
def test_a_host_trains_on_it(name: str) -> None:
    model, size = learner(name)
    moved = gradients(model, size)
    # The projector's batch normalisation cancels a shift that all tokens share.
    assert sum(moved.values()) >= len(moved) - 3, [name for name, has_one in moved.items() if not has_one]


@pytest.mark.parametrize('name', ['vit', 'resnet', 'own'])
@pytest.mark.parametrize('channels', [1, 4, 13])
def test_any_number_of_channels(name: str, channels: int) -> None:
    model, size = learner(name, in_channels=channels)
    assert any(gradients(model, size, channels).values())


@pytest.mark.parametrize('name', ['resnet18', 'convnext_tiny', 'vit_b_32', 'mobilenet_v2'])
def test_torchvision_without_its_last_layer(name: str) -> None:
    reference, inputs = torchvision.models.get_model(name, weights=None).eval(), []
    backbone = MODELS.build(dict(type='TorchvisionBackbone', name=name)).eval()
    backbone.model.load_state_dict({key: reference.state_dict()[key] for key in backbone.model.state_dict()})
    first = next(m for key, m in reference.named_modules() if isinstance(m, nn.Linear) and key.split('.')[0] in
                 ('fc', 'classifier', 'head', 'heads'))  # fmt: skip
    first.register_forward_hook(lambda module, args, output: inputs.append(args[0]))
    with torch.no_grad():
        reference(images(224, batch=1))
        torch.testing.assert_close(backbone(images(224, batch=1))[0].flatten(1), inputs[0])
    assert not any(isinstance(part, nn.Dropout) and part.p for part in backbone.modules())


def test_classifiers_of_torchvision_that_are_not_linear_or_not_last() -> None:
    squeezed = MODELS.build(dict(type='TorchvisionBackbone', name='squeezenet1_1'))
    assert squeezed(images(64, batch=1))[0].shape == (1, 512)
    model = MODELS.build(dict(type='TorchvisionBackbone', name='googlenet', arguments=dict(init_weights=False))).model
    assert not any(isinstance(part, nn.Linear) for part in model.modules())


@pytest.mark.parametrize('name', ['vit', 'dinov3', 'convnext', 'swin'])
def test_depths_are_those_of_timm(name: str) -> None:
    backbone: WrappedBackbone = MODELS.build(MODELS_AND_WIDTHS[name][0])
    # timm counts the head, which is missing here, as a depth of its own; so do we.
    model = copy.deepcopy(backbone.model)
    model.head.fc = nn.Linear(2, 2)
    groups = param_groups_layer_decay(model, layer_decay=0.5)
    scales = {id(p): group['lr_scale'] for group in groups for p in group['params']}
    for key, parameter in model.named_parameters():
        depth, number = backbone.get_layer_depth(f'backbone.model.{key}', 'backbone.')
        assert 0.5 ** (number - 1 - depth) == scales[id(parameter)], key


def test_depths_without_groups_follow_the_blocks() -> None:
    resnet = MODELS.build(MODELS_AND_WIDTHS['resnet'][0])
    names = 'conv1', 'bn1', 'layer1.0.bn1', 'layer1.1.conv2', 'layer4.0.downsample.0', 'layer4.1.bn2'
    assert [resnet.get_layer_depth(f'model.{name}.weight')[0] for name in names] == [0, 0, 1, 2, 7, 8]
    assert resnet.get_layer_depth('neck.fc0.weight', 'backbone.') == (9, 10)


@pytest.mark.parametrize(('name', 'depth'), [('vit', 0), ('dinov3', 1), ('convnext', 2), ('resnet', 4)])
def test_frozen_blocks_get_no_gradient_and_keep_their_statistics(name: str, depth: int) -> None:
    model, size = learner(name, frozen_blocks=depth)
    model.train()
    moved = gradients(model, size)
    frozen = {key for key in moved if model.backbone.get_layer_depth(key)[0] <= depth}
    assert frozen and not any(moved[key] for key in frozen)
    assert any(moved[key] for key in moved.keys() - frozen)
    statistics = {key: value for key, value in model.backbone.named_buffers() if key.endswith('running_mean')}
    assert {key for key, value in statistics.items() if not value.any()} == {
        key for key in statistics if model.backbone.get_layer_depth(key.replace('running_mean', 'weight'))[0] <= depth
    }
    target = [value for key, value in model.target.backbone.named_buffers() if key.endswith('running_mean')]
    assert [bool(value.any()) for value in target] == [bool(value.any()) for value in statistics.values()]


@pytest.mark.parametrize('name', ['vit', 'dinov3', 'swin', 'convnext'])
def test_low_rank_updates_alone_are_trained(name: str) -> None:
    pytest.importorskip('peft')
    model, size = learner(name, lora=2)
    plain = MODELS.build(MODELS_AND_WIDTHS[name][0])
    model.backbone.load_state_dict(plain.state_dict(), strict=False)
    model.target.copy_weights(model.backbone, model.neck)
    torch.testing.assert_close(model.backbone.eval()(images(size))[0], plain.eval()(images(size))[0])
    model.train()
    moved = gradients(model, size)
    trained = {key for key, has_one in moved.items() if has_one}
    assert trained == {key for key in moved if 'lora_B' in key}, 'B starts at zero, so A gets no gradient'
    own, others = model.backbone.state_dict().keys(), plain.state_dict().keys()
    assert others <= own and all('.lora_' in key for key in own - others)
    for key, parameter in model.backbone.named_parameters():
        if 'lora_B' in key:
            nn.init.normal_(parameter, std=0.1)
    architecture = plain.model.default_cfg['architecture']
    merged = timm.create_model(architecture, num_classes=0, **MODELS_AND_WIDTHS[name][0]['arguments'])
    merged.load_state_dict(model.backbone.plain_model().state_dict())
    model.eval()
    torch.testing.assert_close(merged.eval()(images(size)), model.backbone(images(size))[0], rtol=1e-4, atol=1e-5)
    load_pretrained(plain, PretrainedBackbone('some.pth', 'online', model.backbone.state_dict()))
    torch.testing.assert_close(plain(images(size))[0], model.backbone(images(size))[0], rtol=1e-4, atol=1e-5)
    copied = MODELS.build(MODELS_AND_WIDTHS[name][0] | dict(lora=2)).eval()
    copied.load_state_dict(model.backbone.state_dict())
    torch.testing.assert_close(copied(images(size)), model.backbone(images(size)))


def test_low_rank_updates_that_cannot_be(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(UserError, match='a OwnMap has no linear layers; leave lora out'):
        learner('own', lora=2)
    monkeypatch.setitem(sys.modules, 'peft', None)
    with pytest.raises(UserError, match='needs the package peft: pip install peft'):
        low_rank.add_low_rank(nn.Linear(2, 2), 2)
