"""The detection backbone against mmpretrain's."""

import pytest
import torch
from mmdet.registry import MODELS as DETECTION_MODELS
from mmpretrain.models import ResNet, VisionTransformer
from mmpretrain.models.backbones import ViTSAM
from weights.test_position_grids import CHANGES, built, interpolated, own, positions, saved

from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import load_pretrained, read_pretrained

ARCH = dict(embed_dims=32, num_layers=3, num_heads=4, feedforward_channels=48)


def build(**changes):
    settings = dict(arch=ARCH, global_blocks=(0, 1, 2), img_size=64, pretrained_img_size=64, patch_size=8)
    model = MODELS.build(dict(type='mixcl.DetectionViT', **{**settings, **changes}))
    return model.double()


def randomised(module):
    for parameter in module.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    return module


def pretrained_vit(**changes):
    settings = dict(arch=ARCH, img_size=64, patch_size=8, final_norm=False)
    return randomised(VisionTransformer(**{**settings, **changes})).double()


def without_class_token(vit, img_size):
    """Return mmpretrain's ViT without class token, with the weights of one that has it."""
    settings = dict(arch=ARCH, img_size=img_size, patch_size=8, final_norm=False)
    plain = VisionTransformer(**settings, with_cls_token=False, out_type='featmap').double()
    state = vit.state_dict()
    state['pos_embed'] = state['pos_embed'][:, 1:]
    del state['cls_token']
    plain.load_state_dict(state)
    return plain


@pytest.mark.parametrize('shape', [(64, 64), (96, 40)])
def test_all_global_blocks_equal_mmpretrains_vit(shape):
    vit = pretrained_vit()
    model, reference = build(), without_class_token(vit, 64)
    report = model.load_state_dict(vit.state_dict(), strict=False)
    assert report.unexpected_keys == ['cls_token']
    assert all('rel_pos_' in name for name in report.missing_keys) and len(report.missing_keys) == 6
    images = torch.randn(2, 3, *shape, dtype=torch.float64)
    torch.testing.assert_close(model(images)[0], reference(images)[0], rtol=0, atol=1e-10)


def test_mmdet_reads_a_checkpoint_by_itself(tmp_path):
    """A config of mmdet needs only a prefix, as docs/weights.md shows."""
    vit, resnet = pretrained_vit(), ResNet(18).double()
    torch.nn.Module.eval(resnet)
    images = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    reference = without_class_token(vit, 64)
    path = tmp_path / 'some.pth'
    stored = dict(type='Pretrained', checkpoint=str(path), prefix='backbone.')
    settings = dict(arch=ARCH, global_blocks=(0, 1, 2), img_size=64, pretrained_img_size=64, patch_size=8)
    for theirs, config in (
        (reference, dict(type='mixcl.DetectionViT', **settings)),
        (resnet, dict(type='mmdet.ResNet', depth=18)),
    ):
        pretrained = vit if theirs is reference else resnet
        state = {f'backbone.{name}': value for name, value in pretrained.state_dict().items()}
        torch.save(dict(state_dict=state | {'head.weight': torch.ones(2)}), path)
        backbone = DETECTION_MODELS.build(dict(config, init_cfg=stored)).double()
        backbone.init_weights()
        torch.nn.Module.eval(backbone)
        torch.testing.assert_close(backbone(images)[-1], theirs(images)[-1], rtol=0, atol=1e-10)


def test_position_embeddings_of_another_grid_are_resized_as_mmpretrain_does():
    vit = pretrained_vit(img_size=40)
    reference = without_class_token(vit, 40)
    images = torch.randn(2, 3, 64, 64, dtype=torch.float64)
    # Kept at the pretraining's grid and resized for every image as mmpretrain does, or resized once, when loading.
    for side in (40, 64):
        model = build(pretrained_img_size=side)
        model.load_state_dict(vit.state_dict(), strict=False)
        torch.testing.assert_close(model(images)[0], reference(images)[0], rtol=0, atol=1e-10)


@pytest.mark.parametrize(('old', 'new'), CHANGES)
def test_positions_of_another_grid_are_resized_by_it(old, new, tmp_path):
    config, size = own(old), own(new)['img_size']
    source, path = built(config), tmp_path / 'some.pth'
    model = build(arch=config['arch'], global_blocks=(0,), img_size=size, pretrained_img_size=size, patch_size=4)
    report = load_pretrained(model, read_pretrained(saved(path, source, config)), model.new_parameters)
    expected = interpolated(positions(source)[1:], old, new, False).double()
    torch.testing.assert_close(model.pos_embed[0].detach(), expected, rtol=0, atol=1e-6)
    assert f'pos_embed resized from {old[0]}x{old[1]} to {new[0]}x{new[1]} patches' in report
    if (old, new) == ((4, 4), (2, 8)):
        with pytest.raises(UserError, match='may be of 4x4 or of '):
            load_pretrained(model, read_pretrained(saved(path, source)), model.new_parameters)


def test_positions_without_class_token_load_too_and_others_than_a_square_grid_are_refused():
    state = {'pos_embed': torch.randn(1, 25, 32, dtype=torch.float64)}
    model = build(pretrained_img_size=40)
    model.load_state_dict(state, strict=False)
    assert torch.equal(model.pos_embed, state['pos_embed'])
    with pytest.raises(UserError, match=r'pos_embed has 24 positions'):
        model.load_state_dict({'pos_embed': torch.randn(1, 24, 32)}, strict=False)


@pytest.mark.parametrize('shape', [(64, 64), (40, 104)])
def test_windows_equal_mmpretrains_vitsam(shape):
    """Windows that reach over the zero-padded border are equal, too."""
    settings = dict(img_size=64, patch_size=8, window_size=4)
    parent = randomised(ViTSAM(arch={**ARCH, 'global_attn_indexes': (2,)}, out_channels=0, **settings)).double()
    model = build(global_blocks=(2,), **settings)
    state = parent.state_dict()
    state['pos_embed'] = state['pos_embed'].flatten(1, 2)
    model.load_state_dict(state)
    images = torch.randn(2, 3, *shape, dtype=torch.float64)
    torch.testing.assert_close(model(images)[0], parent(images)[0], rtol=0, atol=1e-10)


def test_every_parameter_learns_and_checkpointing_changes_no_gradient():
    images = torch.randn(1, 3, 40, 64, dtype=torch.float64)
    model = randomised(build(window_size=3, global_blocks=(1,)))
    gradients = []
    for _ in range(2):
        model.zero_grad()
        model(images)[0].square().sum().backward()
        gradients.append([parameter.grad for parameter in model.parameters()])
        checkpoint_activations(model, 'layers')
    assert all(first.any() and torch.equal(first, second) for first, second in zip(*gradients, strict=True))


def test_relative_positions_start_at_zero_and_drop_path_reaches_both_branches():
    model = build(drop_path_rate=0.3)
    model.init_weights()
    assert not any(value.any() for name, value in model.named_parameters() if 'rel_pos' in name)
    rates = [layer.ffn.dropout_layer.drop_prob for layer in model.layers]
    assert rates == pytest.approx([0.0, 0.15, 0.3])
    block = randomised(model).layers[2]
    block.ffn.dropout_layer.drop_prob = 1 - 1e-9
    torch.nn.Module.train(model)
    x = torch.randn(2, 8, 8, 32, dtype=torch.float64)
    assert torch.equal(block(x), x)


def test_settings_that_cannot_work_are_refused():
    with pytest.raises(UserError, match='has 3 blocks, but global_blocks names 3'):
        build(global_blocks=(3,))
    for changes in (dict(img_size=100), dict(img_size=(64, 100)), dict(pretrained_img_size=100)):
        with pytest.raises(UserError, match='image size 100 is not a multiple of patch_size=8'):
            build(**changes)
