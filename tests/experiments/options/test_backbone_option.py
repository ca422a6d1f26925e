"""--backbone: another backbone in any config, and what follows from it."""

import copy
from pathlib import Path

import pytest
import timm
import torch
from configuration.all_configs import FOLDER, build, read
from evaluation.composed import written
from mmengine.config import Config, ConfigDict
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from timm.optim import param_groups_weight_decay

from mixcl.errors import UserError
from mixcl.experiments.evaluations.plan import planned
from mixcl.experiments.options.backbone import use_backbone
from mixcl.experiments.options.image_size import crop_sizes, set_image_size
from mixcl.experiments.prepared import prepared
from mixcl.experiments.subject import Subject
from mixcl.heads.mlp import pooled

NAME = 'timm:vit_small_patch16_224'
LEFT_OUT = dict(crossvit_tiny_240='made for 240')
"""Models of timm named tiny whose forward takes no images of 224 pixels, and why."""


def with_backbone(config: str, name: str, image_size: int | None = None, **changes: object) -> Config:
    cfg = copy.deepcopy(read(config))
    cfg.merge_from_dict(changes)
    use_backbone(cfg, name, image_size)
    return cfg


@pytest.mark.parametrize(
    ('config', 'name', 'width', 'patch'),
    [
        ('patchmix/vit-s16_in1k', 'timm:vit_small_patch14_dinov2', 384, 14),
        ('patchmix/vit-s16_in1k', 'timm:vit_small_patch16_dinov3', 384, 16),
        ('patchmix/vit-b16_in1k', 'timm:vit_base_patch32_clip_224', 768, 32),
        ('patchmix/vit-s16_in1k', 'timm:swin_tiny_patch4_window7_224', 768, 16),
        ('patchmix/vit-s16_in1k', 'torchvision:resnet50', 2048, 16),
        ('patchmix/vit-s16_in1k', 'backbones.small_models:OwnMap', 8, 16),
    ],
)
def test_width_and_patches_follow(config: str, name: str, width: int, patch: int) -> None:
    cfg = with_backbone(config, name)
    assert (cfg.model.neck.in_channels, cfg.model.mixer.patch_size) == (width, patch)
    same = ('predictor', 'target', 'objective', 'terms', 'streams')
    assert {part: cfg.model[part] for part in same} == {part: read(config).model[part] for part in same}
    assert cfg.optim_wrapper.optimizer == read(config).optim_wrapper.optimizer
    assert cfg.param_scheduler == read(config).param_scheduler


def test_what_belongs_to_the_run_is_kept() -> None:
    changes = {'model.backbone.frozen_blocks': 3, 'model.backbone.in_channels': 4}
    backbone = with_backbone('mocov3/vit-s16_in1k', NAME, **changes).model.backbone
    assert (backbone.frozen_blocks, backbone.in_channels, backbone.frozen_patch_embed) == (3, 4, True)
    assert with_backbone('patchmix/vit-s16_in1k', NAME).model.backbone.drop_path_rate == 0.1


def test_crops_are_whole_patches_at_any_size() -> None:
    dino = with_backbone('dino/vit-s16_in1k', 'timm:vit_small_patch14_dinov2')
    assert crop_sizes(dino.train_dataloader) == [224, 224, 98]
    assert dino.model.backbone.arguments == dict(img_size=224, dynamic_img_size=True)
    smaller = with_backbone('mocov3/vit-s16_in1k', 'timm:vit_small_patch14_dinov2', 98)
    assert crop_sizes(smaller.train_dataloader) == [98, 98]
    assert smaller.model.backbone.arguments.img_size == 98
    sampled = with_backbone('aps/vit-s16_in1k', 'timm:vit_small_patch14_dinov2')
    assert sampled.train_dataloader.dataset.dataset.pipeline[1].patch_size == 14
    clip = next(hook for hook in sampled.custom_hooks if hook.type == 'AdaptiveClipHook')
    assert len(build(sampled).get_submodule(clip.blocks)) == 12
    swapped = ConfigDict(type='Choice', mixers=[dict(type='Mixup'), dict(type='RegionSwap', cell=32)])
    cfg = with_backbone('patchmix/vit-s16_in1k', 'timm:vit_small_patch14_dinov2', **{'model.mixer': swapped})
    assert cfg.model.mixer.mixers[1].cell == 28


def test_patches_are_dropped_where_there_are_tokens() -> None:
    dropping = {'model.streams': dict(view1=dict(keep=0.5), view2=dict(keep=0.5))}
    build(with_backbone('mocov3/vit-s16_in1k', 'timm:vit_small_patch16_dinov3', **dropping))
    with pytest.raises(UserError, match=r'view1 has keep=0\.5, but TimmBackbone cannot drop patches'):
        build(with_backbone('mocov3/vit-s16_in1k', 'timm:convnext_tiny', **dropping))
    with pytest.raises(UserError, match='TorchvisionBackbone cannot drop patches; use ContrastiveViT'):
        build(with_backbone('aps/vit-s16_in1k', 'torchvision:resnet50'))


def test_weight_decay_spares_what_timm_spares() -> None:
    """This holds in MoCo v3's recipe, too, which lets all parameters of its own network decay."""
    cfg = with_backbone('mocov3/vit-s16_in1k', 'timm:vit_tiny_patch16_224', 32)
    model = build(cfg)
    with DefaultScope.overwrite_default_scope('mixcl'):
        groups = build_optim_wrapper(model, copy.deepcopy(cfg.optim_wrapper)).optimizer.param_groups
    found = {id(p): group['weight_decay'] for group in groups for p in group['params']}
    timms = param_groups_weight_decay(
        model.backbone.model, 0.1, no_weight_decay_list=model.backbone.model.no_weight_decay()
    )
    expected = {id(p): group['weight_decay'] for group in timms for p in group['params'] if p.requires_grad}
    assert expected.items() <= found.items() and len(expected) > 100
    assert model.backbone.model.pos_embed.ndim == 3 and expected[id(model.backbone.model.pos_embed)] == 0
    assert 'paramwise_cfg' not in with_backbone('mocov2/r50_in1k', 'timm:resnet50').optim_wrapper


@pytest.mark.parametrize(
    ('config', 'name', 'message'),
    [
        ('patchmix/vit-s16_in1k', 'resnet50', 'names no library; write timm:resnet50 or torchvision:resnet50'),
        ('patchmix/vit-s16_in1k', 'nothing', 'write timm:NAME, torchvision:NAME or the path of a class of yours'),
        ('patchmix/vit-s16_in1k', 'timm:crossvit_tiny_240', 'crops of 224 pixels .* it is made for 240 .*`image_size`'),
        ('dino/vit-s16_in1k', 'timm:maxvit_tiny_tf_224', 'crops of 96 pixels .* choose a config without local crops'),
        ('patchmix/vit-s16_in1k', 'backbones.small_models:no_module', 'gives a int, but a backbone is a'),
        ('patchmix/vit-s16_in1k', 'backbones.small_models:Tokens', r'gives \(2, 3, 50176\) for two images'),
        ('simmim/vit-b16_in1k', 'timm:vit_tiny_patch16_224', 'SimMIM masks tokens of the backbone of its config'),
    ],
)
def test_refused_in_one_sentence(config: str, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        with_backbone(config, name)


def test_a_model_that_takes_any_size_by_itself() -> None:
    """timm's NaFlexViT words its refusal of `dynamic_img_size` in its own way."""
    backbone = with_backbone('mocov3/vit-s16_in1k', 'timm:naflexvit_base_patch16_gap').model.backbone
    assert backbone.arguments == dict(img_size=224)


def test_an_evaluation_of_another_backbone_is_by_a_recipe_for_any() -> None:
    cfg = with_backbone('dino/vit-s16_in1k_0local', 'timm:resnet18')
    assert cfg.config_name == 'dino/resnet18_in1k_0local'
    assert with_backbone('mocov3/vit-s16_in1k', NAME).config_name == 'mocov3/vit-s16_in1k'  # the same model from timm
    (linear,) = planned(FOLDER, ['linear'], 'digits', Subject(backbone=cfg.model.backbone.to_dict(), config=cfg))
    assert linear.path.stem == 'patchmix'  # not dino, which is for transformers with a class token


def test_features_that_are_frozen_stay_so(tmp_path: Path) -> None:
    cfg = prepared(written(tmp_path, 'linear'))
    with pytest.raises(UserError, match='no backbone and projector that train on crops'):
        use_backbone(cfg, NAME)
    with pytest.raises(UserError, match='`image_size=33` is no multiple of the patches of'):
        set_image_size(cfg, 33)


def test_configs_without_crops_are_refused() -> None:
    with pytest.raises(UserError, match='no backbone and projector that train on crops'):
        use_backbone(Config(dict(model=dict(type='MaskRCNN', backbone=dict()))), NAME)


@pytest.mark.long
@pytest.mark.parametrize('name', timm.list_models('*tiny*'))
def test_every_tiny_model_of_timm_builds_with_a_projector(name: str) -> None:
    if name in LEFT_OUT:
        with pytest.raises(UserError, match=LEFT_OUT[name]):
            with_backbone('patchmix/vit-s16_in1k', f'timm:{name}')
        return
    cfg = with_backbone('patchmix/vit-s16_in1k', f'timm:{name}')
    with torch.device('meta'), torch.no_grad():
        model = build(cfg).eval()
        features = pooled(model.backbone(torch.zeros(2, 3, 224, 224))[-1])
        assert model.neck(features).shape == (2, 256)
