"""Models of timm by name, as backbones of a host."""

import hosts
import pytest
import timm
import torch

from mixcl.algorithms.checks import check_patches
from mixcl.errors import UserError
from mixcl.registry import MODELS

VIT = dict(model_name='vit_tiny_patch16_224', img_size=32, depth=1, embed_dim=16, num_heads=2, dynamic_img_size=True)


@pytest.mark.parametrize('pool', ['token', 'avg'])
def test_features_are_timms_own(pool: str) -> None:
    backbone = MODELS.build(dict(type='TIMMViT', pool=pool, **VIT))
    arguments = {name: value for name, value in VIT.items() if name != 'model_name'}
    reference = timm.create_model(VIT['model_name'], num_classes=0, **arguments)
    reference.load_state_dict(backbone.timm_model.state_dict())
    images = torch.randn(3, 3, 32, 32)
    tokens = reference.forward_features(images)
    expected = tokens[:, 0] if pool == 'token' else tokens[:, 1:].mean(dim=1)
    torch.testing.assert_close(backbone(images)[0], expected)


@pytest.mark.parametrize('pool', ['token', 'avg'])
def test_dropped_patches_are_not_encoded(pool: str) -> None:
    backbone = MODELS.build(dict(type='TIMMViT', pool=pool, reg_tokens=2, **VIT))
    model = backbone.timm_model
    for tokens in (torch.tensor([[0, 1, 2, 3]] * 3), torch.tensor([[3, 1], [0, 2], [1, 0]])):
        images = torch.randn(3, 3, 32, 32)
        embedded = torch.cat([model.cls_token, model.reg_token], dim=1).expand(3, -1, -1)
        patches = model.patch_embed.proj(images).flatten(2).mT
        embedded = torch.cat([embedded + model.pos_embed[:, :3], patches + model.pos_embed[:, 3:]], dim=1)
        kept = embedded[torch.arange(3)[:, None], torch.cat([torch.arange(3).expand(3, 3), 3 + tokens], dim=1)]
        encoded = model.norm(model.blocks(kept))
        expected = encoded[:, 0] if pool == 'token' else encoded[:, 3:].mean(dim=1)
        torch.testing.assert_close(backbone(images, tokens)[0], expected)
    assert not torch.equal(backbone(images)[0], expected), 'the next call keeps all'


@pytest.mark.parametrize(
    ('backbone', 'width'),
    [(dict(type='TIMMViT', **VIT), 16), (dict(type='mmpretrain.TIMMBackbone', model_name='test_resnet'), 96)],
)
def test_a_host_trains_on_it(backbone: dict, width: int) -> None:
    neck = hosts.moco_v3()['neck'] | dict(in_channels=width)
    model = hosts.build(hosts.moco_v3(dict(type='Mixup')), backbone=backbone, neck=neck)
    losses = model([torch.randn(4, 3, 32, 32)] * 2, mode='loss')
    sum(value for name, value in losses.items() if 'loss' in name).backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters() if p.requires_grad)


def test_images_that_do_not_fit_are_refused() -> None:
    backbone = MODELS.build(dict(type='TIMMViT', **VIT))
    check_patches(backbone, [torch.zeros(3, 64, 64)])  # dynamic_img_size
    with pytest.raises(UserError, match='40x40 pixels cannot be cut into the patches of 16x16'):
        check_patches(backbone, [torch.zeros(3, 40, 40)])
    fixed = MODELS.build(dict(type='TIMMViT', **VIT | dict(dynamic_img_size=False)))
    with pytest.raises(UserError, match=r'first crops of \(64, 64\) pixels, but model.backbone.img_size is \(32, 32\)'):
        check_patches(fixed, [torch.zeros(3, 64, 64)])
