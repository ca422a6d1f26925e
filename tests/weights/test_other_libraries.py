"""Files of other libraries give the features that those libraries give."""

import json
import re
from pathlib import Path

import pytest
import timm
import torch
import torchvision
from safetensors.torch import save_file
from timm.models import beit
from torch import Tensor, nn
from weights import other_libraries as others
from weights.other_libraries import saved

from mixcl.errors import UserError
from mixcl.registry import MODELS
from mixcl.weights import PretrainedBackbone, load_pretrained, local_file, read_pretrained


def images(size: int, channels: int = 3) -> Tensor:
    return torch.randn(2, channels, size, size, generator=torch.Generator().manual_seed(2))


def assert_same_features(own: nn.Module, other: nn.Module, batch: Tensor) -> None:
    own.eval()
    torch.testing.assert_close(others.features(own, batch), others.features(other, batch), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize('width', [192, 384, 768])
@pytest.mark.parametrize(('patch', 'size'), [(16, 64), (2, 8)])
@pytest.mark.parametrize('library', ['timm', 'hugging_face', 'torchvision'])
def test_transformers_have_the_features_of_their_library(
    tmp_path: Path, library: str, width: int, patch: int, size: int
) -> None:
    other = getattr(others, f'{library}_vit')(width, patch, size)
    if library == 'hugging_face':
        other.save_pretrained(tmp_path)
        path = tmp_path
    else:
        path = saved(tmp_path, dict(model=other.state_dict()) if library == 'timm' else other.state_dict())
    own = others.contrastive_vit(width, patch, size)
    report = load_pretrained(own, read_pretrained(path))
    assert report.startswith(f'format: {library.replace("_", " ").title() if library == "hugging_face" else library}; ')
    assert '; 30 tensors loaded; new: none; left out: ' in report
    assert_same_features(own, other, images(size))


@pytest.mark.parametrize('depth', [18, 50])
@pytest.mark.parametrize('library', ['timm', 'hugging_face', 'torchvision', 'mmpretrain'])
def test_resnets_have_the_features_of_their_library(tmp_path: Path, library: str, depth: int) -> None:
    other = dict(
        timm=lambda: timm.create_model(f'resnet{depth}'),
        hugging_face=lambda: others.hugging_face_resnet(depth, head=True),
        torchvision=lambda: torchvision.models.get_model(f'resnet{depth}'),
        mmpretrain=lambda: others.resnet(depth),
    )[library]()
    others.randomised(other)
    path = saved(tmp_path, others.prefixed(other.state_dict(), 'backbone.' if library == 'mmpretrain' else ''))
    own = others.resnet(depth)
    nn.init.zeros_(own.conv1.weight)
    assert 'new: none' in load_pretrained(own, read_pretrained(path))
    assert_same_features(own, other, images(32))


MOCO_NAMES = dict(online='momentum_encoder', target='base_encoder')


@pytest.mark.parametrize('kind', ['patchmix', 'mocov3', 'dino'])
def test_released_vision_transformers(tmp_path: Path, kind: str) -> None:
    online, target = others.contrastive_vit(32), others.contrastive_vit(32)
    nn.init.constant_(target.cls_token, 3)
    path = saved(tmp_path, others.released(kind, online, target))
    for encoder, expected in (('online', online), ('target', target)):
        own = others.contrastive_vit(32)
        nn.init.zeros_(own.layers[0].attn.qkv.weight)
        found = read_pretrained(path, encoder)
        report = load_pretrained(own, found)
        assert found.format == ('DINO' if kind == 'dino' else 'MoCo v3, PatchMix or SDMP') and found.epochs == 300
        assert '30 tensors loaded; new: none' in report
        others_name = dict(online='teacher', target='student') if kind == 'dino' else MOCO_NAMES
        assert f'{others_name[encoder]} (3' in report
        assert_same_features(own, expected, images(32))


def test_released_by_aps(tmp_path: Path) -> None:
    settings = dict(norm_cfg=dict(type='LN', eps=1e-5))
    online = others.contrastive_vit(32, type='APSViT', qkv_bias=False, **settings)
    nn.init.zeros_(online.pos_embed.data[:, 0])
    path = saved(tmp_path, others.released('aps', online, None))
    with_bias = others.contrastive_vit(32, **settings)
    plain = others.contrastive_vit(32, type='APSViT', qkv_bias=False, **settings)
    for own, biases in ((plain, ''), (with_bias, 'no biases of query, key and value in the file: zero')):
        report = load_pretrained(own, read_pretrained(path))
        assert report.startswith('format: APS; ') and biases in report
        assert_same_features(own, online, images(32))


@pytest.mark.parametrize(
    ('kind', 'name'),
    [
        ('moco', 'MoCo or MixCo'),
        ('mixco', 'MoCo or MixCo'),
        ('sololearn', 'solo-learn'),
        ('lightly', 'lightly'),
        ('lightly_dino', 'lightly'),
        ('openselfsup', 'OpenSelfSup'),
        ('openselfsup_byol', 'OpenSelfSup'),
        ('simsiam', 'SimSiam'),
        ('mixco_simclr', "MixCo's SimCLR"),
        ('mmpretrain', 'mmpretrain'),
    ],
)
@pytest.mark.parametrize('zipped', [True, False])
def test_released_resnets(tmp_path: Path, kind: str, name: str, zipped: bool) -> None:
    online, target = others.small_resnet(), others.small_resnet()
    nn.init.constant_(target.conv1.weight, 3)
    content = others.released(kind, online, target)
    path = saved(tmp_path, content, _use_new_zipfile_serialization=zipped)  # most of them are older than torch 1.6
    for encoder, expected in (('online', online), ('target', target)):
        if encoder == 'target' and kind in ('simsiam', 'mixco_simclr'):
            with pytest.raises(UserError, match=f'has no target encoder .it is of the format of {name}'):
                read_pretrained(path, encoder)
            continue
        own, found = others.small_resnet(), read_pretrained(path, encoder)
        nn.init.zeros_(own.conv1.weight)
        report = load_pretrained(own, found)
        assert found.format == name and '120 tensors loaded; new: none' in report
        assert_same_features(own, expected, images(32))


def test_beit_at_another_size_equals_timm(tmp_path: Path) -> None:
    name, arguments = 'beit_base_patch16_224', dict(depth=2, embed_dim=24, num_heads=2)
    small = dict(arguments, img_size=96)
    source, theirs = timm.create_model(name, **arguments), timm.create_model(name, num_classes=0, **small)
    others.randomised(source)
    theirs.load_state_dict(beit.checkpoint_filter_fn(source.state_dict(), theirs), strict=False)
    own = MODELS.build(dict(type='TimmBackbone', name=name, arguments=small))
    report = load_pretrained(own, read_pretrained(saved(tmp_path, source.state_dict())))
    assert 'relative positions resized from a window of 14x14' in report
    torch.testing.assert_close(own.eval()(images(96))[-1], theirs.eval()(images(96)))


def test_names_that_nothing_knows_are_told(tmp_path: Path) -> None:
    chunked = {name.replace('blocks.', 'blocks.0.'): one for name, one in others.timm_vit(32).state_dict().items()}
    trunk = others.prefixed(others.small_resnet().state_dict(), '_feature_blocks.')
    vissl = dict(classy_state_dict=dict(base_model=dict(model=dict(trunk=trunk))))
    with pytest.raises(UserError, match=r'begin with cls_token \(1\).*blocks \(24\).*such as blocks\.0\.0\.attn\.qkv'):
        load_pretrained(others.contrastive_vit(32), read_pretrained(saved(tmp_path, chunked)))
    with pytest.raises(UserError, match=r'such as classy_state_dict\.base_model\.model\.trunk\._feature_blocks\.conv1'):
        read_pretrained(saved(tmp_path, vissl))


def test_any_form_of_a_vision_transformer_loads_into_models_by_name(tmp_path: Path) -> None:
    arguments = dict(img_size=32, embed_dim=32, depth=2, num_heads=2)
    contents = dict(
        timm=others.timm_vit(32).state_dict(),
        mmpretrain=others.prefixed(others.contrastive_vit(32).state_dict(), 'backbone.'),
        dino=others.released('dino', others.contrastive_vit(32), others.contrastive_vit(32)),
        huggingface=others.hugging_face_vit(32, head=True).state_dict(),
    )
    others.hugging_face_vit(32, head=True).save_pretrained(tmp_path)
    paths = dict(huggingface=tmp_path)
    for name, content in contents.items():
        own = MODELS.build(dict(type='TimmBackbone', name='vit_base_patch16_224', arguments=arguments))
        path = paths.get(name) or saved(tmp_path, content)
        assert '30 tensors loaded; new: none' in load_pretrained(own, read_pretrained(path))
        assert own.state_dict().keys() >= {'model.blocks.0.attn.qkv.weight'}
    other = others.hugging_face_vit(32, head=True)
    torch.testing.assert_close(own(images(32))[0], others.features(other, images(32)), rtol=1e-5, atol=1e-5)


def test_convolutional_models_by_name(tmp_path: Path) -> None:
    other = others.randomised(timm.create_model('convnext_atto', num_classes=4))
    own = MODELS.build(dict(type='TimmBackbone', name='convnext_atto')).eval()
    report = load_pretrained(own, read_pretrained(saved(tmp_path, other.state_dict())))
    assert 'new: none; left out: head (2)' in report
    expected = other.forward_head(other.forward_features(images(64)), pre_logits=True)
    torch.testing.assert_close(own(images(64))[0], expected)
    own = MODELS.build(dict(type='TorchvisionBackbone', name='resnet18')).eval()
    other = others.randomised(torchvision.models.resnet18())
    load_pretrained(own, read_pretrained(saved(tmp_path, other.state_dict())))
    assert_same_features(own, other, images(32))


@pytest.mark.parametrize('channels', [1, 4])
def test_three_channels_load_into_others_as_in_timm(tmp_path: Path, channels: int) -> None:
    path = saved(tmp_path, others.timm_vit(32).state_dict())
    own = others.contrastive_vit(32, in_channels=channels)
    assert f'from 3 to {channels} channels' in load_pretrained(own, read_pretrained(path))
    settings = dict(img_size=32, embed_dim=32, depth=2, num_heads=2, in_chans=channels, num_classes=5)
    other = timm.create_model(
        'vit_base_patch16_224', pretrained=True, pretrained_cfg_overlay=dict(file=str(path), num_classes=5), **settings
    )
    assert_same_features(own, other.eval(), images(32, channels))


def test_positions_of_other_sizes_and_without_a_class_token(tmp_path: Path) -> None:
    small = others.timm_vit(32, size=32)
    path = saved(tmp_path, small.state_dict())
    own = MODELS.build(
        dict(
            type='TimmBackbone',
            name='vit_base_patch16_224',
            arguments=dict(img_size=64, embed_dim=32, depth=2, num_heads=2),
        )
    )
    assert 'pos_embed resized from 2x2 to 4x4 patches' in load_pretrained(own, read_pretrained(path))
    small.set_input_size(img_size=64)
    assert_same_features(own.model, small, images(64))
    for of_file, of_model, said in ((True, False, 'no row for the class token'), (False, True, 'without the row of')):
        other = others.timm_vit(32, no_embed_class=of_file)
        own = others.timm_vit(32, no_embed_class=of_model)
        assert said in load_pretrained(own, read_pretrained(saved(tmp_path, other.state_dict())))
        assert_same_features(own, other, images(32))


def test_what_models_compute_and_whole_decoders_are_left_out(tmp_path: Path) -> None:
    other, own = others.timm_vit(32), others.contrastive_vit(32)
    more = {'blocks.0.attn_mask': torch.ones(2), 'mask_token': torch.ones(2), 'decoder_blocks.0.mlp.fc1': torch.ones(2)}
    report = load_pretrained(own, read_pretrained(saved(tmp_path, other.state_dict() | more)))
    assert 'left out: head (2), blocks (1), mask_token (1), decoder_blocks (1)' in report
    assert_same_features(own, other, images(32))


def test_other_types_are_refused_and_not_cast(tmp_path: Path) -> None:
    state = others.timm_vit(32).state_dict()
    for name, dtype in (('pos_embed', torch.complex64), ('blocks.0.mlp.fc1.bias', torch.float8_e4m3fn)):
        path = saved(tmp_path, state | {name: state[name].to(dtype)})
        with pytest.raises(UserError, match=f'1 of 30 tensors are of another type, .* {dtype} in the file'):
            load_pretrained(others.contrastive_vit(32), read_pretrained(path))
    half = {name: value.to(torch.bfloat16) for name, value in state.items()}
    load_pretrained(others.contrastive_vit(32), read_pretrained(saved(tmp_path, half)))


def test_another_number_of_heads_is_refused_where_a_config_says_it(tmp_path: Path) -> None:
    own = others.contrastive_vit(192, num_heads=6)
    others.hugging_face_vit(192).save_pretrained(tmp_path)
    refused = 'trained with 3 attention heads, but the model has 6; .*set model.backbone.arch.num_heads=3'
    with pytest.raises(UserError, match=refused):
        load_pretrained(own, read_pretrained(tmp_path))
    save_file(others.timm_vit(192).state_dict(), tmp_path / 'model.safetensors')
    for config in (
        dict(architecture='vit_tiny_patch16_224'),
        dict(architecture='vit_small_patch16_224', model_args=dict(num_heads=3)),
    ):
        (tmp_path / 'config.json').write_text(json.dumps(config))
        with pytest.raises(UserError, match=refused):
            load_pretrained(own, read_pretrained(tmp_path / 'model.safetensors'))
    state = others.contrastive_vit(192, num_heads=3).state_dict()
    for config in (dict(type='TimmBackbone', name='vit_tiny_patch16_224'), dict(type='X', arch='deit-tiny')):
        with pytest.raises(UserError, match=refused):
            load_pretrained(own, PretrainedBackbone('some.pth', 'online', state, backbone=config))


def test_another_number_of_heads_is_warned_of_if_custom_says_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = others.contrastive_vit(384, num_heads=12)
    by_six, by_twelve = others.contrastive_vit(384, num_heads=6), others.contrastive_vit(384, num_heads=12)
    (tmp_path / 'timm').mkdir()
    from_timm = saved(tmp_path / 'timm', others.timm_vit(384).state_dict())
    from_mocov3 = saved(tmp_path, others.released('mocov3', other, other))
    for own, path, usual in ((by_twelve, from_timm, 6), (by_six, from_mocov3, 12), (by_six, from_timm, None)):
        said: list[str] = []
        monkeypatch.setattr('mixcl.weights.pretrained.print_log', lambda text, *_, said=said: said.append(text))
        load_pretrained(own, read_pretrained(path))
        load_pretrained(own, read_pretrained(path))
        assert [text.rpartition('num_heads=')[2] for text in said] == ([] if usual is None else [str(usual)])


@pytest.mark.parametrize('prefix', ['module._orig_mod.', 'model.', 'module.backbone.', 'backbone.backbone.'])
def test_prefixes_of_training_loops(tmp_path: Path, prefix: str) -> None:
    other, own = others.timm_vit(32), others.contrastive_vit(32)
    nn.init.zeros_(own.cls_token)
    load_pretrained(own, read_pretrained(saved(tmp_path, others.prefixed(other.state_dict(), prefix))))
    assert_same_features(own, other, images(32))


def test_running_averages_are_the_target(tmp_path: Path) -> None:
    first, average = others.timm_vit(32), others.timm_vit(32)
    nn.init.constant_(average.cls_token, 3)
    both = saved(tmp_path, dict(state_dict=first.state_dict(), state_dict_ema=average.state_dict()))
    for encoder, expected, left_out in (('online', first, 'ema'), ('target', average, 'last')):
        own = others.contrastive_vit(32)
        report = load_pretrained(own, read_pretrained(both, encoder))
        assert f'30 tensors loaded; new: none; left out: head (2), {left_out} (32' in report
        assert_same_features(own, expected, images(32))
    own = others.contrastive_vit(32)
    load_pretrained(own, read_pretrained(saved(tmp_path, dict(model_ema=average.state_dict()))))
    assert_same_features(own, average, images(32))


def test_a_teacher_alone(tmp_path: Path) -> None:
    own = others.contrastive_vit(32)
    released = others.released('dino', own, own)
    path = saved(tmp_path, dict(teacher=released['teacher']))
    assert 'format: DINO; 30 tensors loaded' in load_pretrained(own, read_pretrained(path, 'target'))
    with pytest.raises(UserError, match=r'has no online encoder .* use `encoder=target`'):
        read_pretrained(path)


def test_foreign_and_half_files_are_one_sentence(tmp_path: Path) -> None:
    own, qk_norm = others.contrastive_vit(32), others.timm_vit(32, qk_norm=True)
    for content, message in (
        (others.timm_vit(32, reg_tokens=4).state_dict(), 'no place for 1 tensors of the file, for example reg_token'),
        (qk_norm.state_dict(), r'no place for 8 tensors of the file, for example \w+\.0\.'),
        (nn.LSTM(2, 3).state_dict(), r'format: unknown\).* 0 of 30 names match'),
    ):
        with pytest.raises(UserError, match=message):
            load_pretrained(own, read_pretrained(saved(tmp_path, content)))
    with pytest.raises(UserError, match=re.escape('has none of model.safetensors, pytorch_model.bin')):
        read_pretrained(tmp_path)
    save_file(qk_norm.state_dict(), tmp_path / 'model.safetensors')
    assert local_file(tmp_path) == tmp_path / 'model.safetensors'
    content = (tmp_path / 'model.safetensors').read_bytes()
    (tmp_path / 'model.safetensors').write_bytes(content[: len(content) // 2])
    with pytest.raises(UserError, match='cannot be read as a checkpoint'):
        read_pretrained(tmp_path)
