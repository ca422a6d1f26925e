"""Models of timm by name, as backbones of a host."""

import pytest
import timm
import torch
from backbones.small_models import MODELS_AND_WIDTHS, ROTARY, VIT, images
from backbones.small_models import timm as by_name

from mixcl.algorithms.checks import check_patches
from mixcl.errors import UserError
from mixcl.registry import MODELS

OF_TIMM = [name for name, (config, _) in MODELS_AND_WIDTHS.items() if config['type'] == 'TimmBackbone']
"""A vision transformer, those of DINOv2, DINOv3 and CLIP, a ConvNeXt and a Swin transformer."""


@pytest.mark.parametrize('name', OF_TIMM)
def test_features_are_timms_own(name: str) -> None:
    config, width = MODELS_AND_WIDTHS[name]
    backbone = MODELS.build(config).eval()
    reference = timm.create_model(config['name'], num_classes=0, **config['arguments']).eval()
    reference.load_state_dict(backbone.model.state_dict())
    batch = images(config['arguments'].get('img_size', 32))
    (features,) = backbone(batch)
    assert features.shape == (4, width)
    torch.testing.assert_close(features, reference(batch))


@pytest.mark.parametrize('pool', ['token', 'avg'])
def test_dropped_patches_are_not_encoded(pool: str) -> None:
    backbone = MODELS.build(by_name('vit_tiny_patch16_224', global_pool=pool, reg_tokens=2, **VIT))
    model = backbone.model
    batch = images(batch=3)
    for tokens in (torch.tensor([[0, 1, 2, 3]] * 3), torch.tensor([[3, 1], [0, 2], [1, 0]])):
        embedded = torch.cat([model.cls_token, model.reg_token], dim=1).expand(3, -1, -1)
        patches = model.patch_embed.proj(batch).flatten(2).mT
        embedded = torch.cat([embedded + model.pos_embed[:, :3], patches + model.pos_embed[:, 3:]], dim=1)
        kept = embedded[torch.arange(3)[:, None], torch.cat([torch.arange(3).expand(3, 3), 3 + tokens], dim=1)]
        encoded = model.norm(model.blocks(kept))
        expected = encoded[:, 0] if pool == 'token' else model.fc_norm(encoded[:, 3:].mean(dim=1))
        torch.testing.assert_close(backbone(batch, tokens)[0], expected)
    assert not torch.equal(backbone(batch)[0], expected), 'the next call keeps all'


def test_dropped_patches_with_rotary_positions_are_those_that_nobody_attends_to() -> None:
    backbone = MODELS.build(by_name('vit_small_patch16_dinov3', **ROTARY | dict(global_pool='token'))).eval()
    tokens, batch = torch.tensor([[3, 1], [0, 2], [1, 0]]), images(batch=3)
    seen = torch.zeros(3, 1, 1, 3 + 4, dtype=torch.bool)
    seen[..., :3] = True
    seen[torch.arange(3)[:, None], 0, 0, 3 + tokens] = True
    expected = backbone.model.forward_features(batch, attn_mask=seen.expand(-1, -1, 7, -1))[:, 0]
    torch.testing.assert_close(backbone(batch, tokens)[0], expected)


def test_images_that_do_not_fit_are_refused() -> None:
    backbone = MODELS.build(by_name('vit_tiny_patch16_224', dynamic_img_size=True, **VIT))
    check_patches(backbone, [torch.zeros(3, 64, 64)])
    with pytest.raises(UserError, match='40x40 pixels cannot be cut into the patches of 16x16'):
        check_patches(backbone, [torch.zeros(3, 40, 40)])
    fixed = MODELS.build(by_name('vit_tiny_patch16_224', **VIT))
    with pytest.raises(UserError, match=r'first crops of \(64, 64\) pixels, but model.backbone.img_size is \(32, 32\)'):
        check_patches(fixed, [torch.zeros(3, 64, 64)])


def test_weights_of_another_image_size_load() -> None:
    small, large = (MODELS.build(by_name('vit_tiny_patch16_224', **VIT | dict(img_size=size))) for size in (32, 64))
    large.load_state_dict(small.state_dict())
    expected = timm.models.vision_transformer.checkpoint_filter_fn(small.model.state_dict(), large.model)
    torch.testing.assert_close(large.model.pos_embed, expected['pos_embed'])


@pytest.mark.parametrize('name', ['vit', 'dinov3', 'swin'])
def test_timm_initialises_once(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    backbone = MODELS.build(MODELS_AND_WIDTHS[name][0])
    before = {key: value.clone() for key, value in backbone.state_dict().items()}
    backbone.init_weights()
    assert all(torch.equal(value, before[key]) for key, value in backbone.state_dict().items())


@pytest.mark.parametrize(
    ('config', 'message'),
    [
        (by_name('vit_smal_patch16_224'), "timm has no model 'vit_smal_patch16_224' among .* did you mean vit_sm"),
        (by_name('dinov3'), 'did you mean .*dinov3'),
        (by_name('hf-hub:someone/something'), 'timm has no model'),
        (by_name('resnet18', pretrained=True), 'TimmBackbone sets pretrained itself'),
        (dict(type='TorchvisionBackbone', name='resnet5'), "torchvision has no model 'resnet5' .* did you mean resnet"),
        (dict(type='ImportedBackbone', path='no_such_module'), 'has no colon: write package.module:Name'),
        (dict(type='ImportedBackbone', path='no.such:Net'), r'no\.such:Net` cannot be imported \(No module named'),
        (dict(type='ImportedBackbone', path='backbones.small_models:OwnMaps'), "imported .* no attribute 'OwnMaps'"),
        (dict(type='ImportedBackbone', path='backbones.small_models:no_module'), 'gives a int, but a backbone is a'),
    ],
)  # fmt: skip
def test_refused(config: dict, message: str) -> None:
    with pytest.raises(UserError, match=message):
        MODELS.build(config)
