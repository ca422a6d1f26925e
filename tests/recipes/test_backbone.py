"""--backbone: another backbone in any recipe, and what follows from it."""

import copy

import pytest
import timm
import torch
from configuration.all_configs import CONFIGS, read
from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope
from timm.optim import param_groups_weight_decay

from mixcl.errors import UserError
from mixcl.recipes.building import build_model
from mixcl.recipes.evaluations.plan import planned
from mixcl.recipes.images import crop_sizes
from mixcl.recipes.prepared import Options, prepared_to_train
from mixcl.recipes.subject import Subject

NAME = 'timm:vit_small_patch16_224'
LEFT_OUT = dict(crossvit_tiny_240='made for 240')
"""Models of timm named tiny whose forward takes no images of 224 pixels, and why."""


def with_backbone(config: str, name: str, image_size: int | None = None, **changes: object) -> Config:
    asked = Options(backbone=name, image_size=image_size, cfg_options=changes)
    return prepared_to_train(CONFIGS[config], asked)


@pytest.mark.parametrize(
    ('config', 'name', 'width', 'patch'),
    [
        ('patchmix/vit-s16_in1k', 'timm:vit_small_patch14_dinov2', 384, 14),
        ('patchmix/vit-s16_in1k', 'timm:vit_small_patch16_dinov3', 384, 16),
        ('patchmix/vit-s16_in1k', 'timm:swin_tiny_patch4_window7_224', 768, 16),
        ('patchmix/vit-s16_in1k', 'torchvision:resnet50', 2048, 16),
        ('patchmix/vit-s16_in1k', 'backbones.small_models:OwnMap', 8, 16),
    ],
)
def test_width_and_patches_follow(config: str, name: str, width: int, patch: int) -> None:
    cfg = with_backbone(config, name)
    model = build_model(cfg)
    assert (model.neck_channels, model.recipe.mixer.patch_size) == (width, patch)
    same = ('predictor', 'target', 'objective', 'terms', 'streams')
    assert {part: cfg.model[part] for part in same} == {part: read(config).model[part] for part in same}
    assert cfg.optim_wrapper.optimizer == read(config).optim_wrapper.optimizer
    assert cfg.param_scheduler == read(config).param_scheduler


def test_what_followed_from_the_old_backbone_follows_from_the_new_one_though_it_is_written() -> None:
    by_hand = {'model.neck.in_channels': 384, 'model.mixer.patch_size': 16, 'model.backbone.img_size': 224}
    cfg = with_backbone('patchmix/vit-s16_in1k', 'timm:vit_small_patch8_224', image_size=64, **by_hand)
    model = build_model(cfg)
    assert (model.neck_channels, model.recipe.mixer.patch_size, cfg.model.backbone.img_size) == (384, 8, 64)
    tiny = with_backbone('patchmix/vit-s16_in1k', 'timm:vit_tiny_patch16_224', **by_hand)
    assert build_model(tiny).neck_channels == 192


def test_what_belongs_to_the_run_is_kept() -> None:
    backbone = with_backbone('mocov3/vit-s16_in1k', NAME, **{'model.backbone.in_channels': 4}).model.backbone
    assert (backbone.in_channels, backbone.frozen_patch_embed) == (4, True)
    continued = with_backbone('patchmix/vit-s16_folder_continued', NAME, **{'model.backbone.frozen_blocks': 3})
    assert continued.model.backbone.frozen_blocks == 3
    assert with_backbone('patchmix/vit-s16_in1k', NAME).model.backbone.drop_path_rate == 0.1


def test_crops_are_whole_patches_at_any_size() -> None:
    dino = with_backbone('dino/vit-s16_in1k', 'timm:vit_small_patch14_dinov2')
    assert crop_sizes(dino.train_dataloader) == [224, 224, 98] and dino.model.backbone.img_size == 224
    smaller = with_backbone('mocov3/vit-s16_in1k', 'timm:vit_small_patch14_dinov2', 98)
    assert crop_sizes(smaller.train_dataloader) == [98, 98] and smaller.model.backbone.img_size == 98
    sampled = with_backbone('aps/vit-s16_in1k', 'timm:vit_small_patch14_dinov2')
    assert sampled.train_dataloader.dataset.dataset.pipeline[1].patch_size == 14
    swapped = dict(_delete_=True, type='Choice', mixers=[dict(type='Mixup'), dict(type='RegionSwap')])
    cfg = with_backbone('patchmix/vit-s16_in1k', 'timm:vit_small_patch14_dinov2', **{'model.mixer': swapped})
    assert build_model(cfg).recipe.mixer.mixers[1].cell == 28


def test_patches_are_dropped_where_there_are_tokens() -> None:
    dropping = {'model.streams': dict(view1=dict(keep=0.5), view2=dict(keep=0.5))}
    build_model(with_backbone('mocov3/vit-s16_in1k', 'timm:vit_small_patch16_dinov3', **dropping))
    with pytest.raises(UserError, match=r'view1 has keep=0\.5, but TimmBackbone cannot drop patches'):
        build_model(with_backbone('mocov3/vit-s16_in1k', 'timm:convnext_tiny', **dropping))
    with pytest.raises(UserError, match='TorchvisionBackbone cannot drop patches; use ContrastiveViT'):
        build_model(with_backbone('aps/vit-s16_in1k', 'torchvision:resnet50'))


def test_weight_decay_spares_what_timm_spares() -> None:
    """This holds in MoCo v3's recipe, too, which lets all parameters of its own network decay."""
    cfg = with_backbone('mocov3/vit-s16_in1k', 'timm:vit_tiny_patch16_224', 32)
    model = build_model(cfg)
    with DefaultScope.overwrite_default_scope('mixcl'):
        groups = build_optim_wrapper(model, copy.deepcopy(cfg.optim_wrapper)).optimizer.param_groups
    found = {id(p): group['weight_decay'] for group in groups for p in group['params']}
    timms = param_groups_weight_decay(
        model.backbone.model, 0.1, no_weight_decay_list=model.backbone.model.no_weight_decay()
    )
    expected = {id(p): group['weight_decay'] for group in timms for p in group['params'] if p.requires_grad}
    assert expected.items() <= found.items() and len(expected) > 100
    assert model.backbone.model.pos_embed.ndim == 3 and expected[id(model.backbone.model.pos_embed)] == 0
    resnet = with_backbone('mocov2/r50_in1k', 'timm:resnet50').optim_wrapper
    assert 'flat_decay_mult' not in resnet.paramwise_cfg


@pytest.mark.parametrize(
    ('config', 'name', 'message'),
    [
        ('patchmix/vit-s16_in1k', 'resnet50', 'names no library; write timm:resnet50 or torchvision:resnet50'),
        ('patchmix/vit-s16_in1k', 'nothing', 'write timm:NAME, torchvision:NAME or the path of a class of yours'),
        ('patchmix/vit-s16_in1k', 'timm:crossvit_tiny_240', 'crops of 224 pixels .* it is made for 240 .*`image_size`'),
        ('dino/vit-s16_in1k', 'timm:maxvit_tiny_tf_224', 'crops of 96 pixels .* choose a config without local crops'),
        ('patchmix/vit-s16_in1k', 'backbones.small_models:no_module', 'gives a int, but a backbone is a'),
        ('patchmix/vit-s16_in1k', 'backbones.small_models:Tokens', 'gives one vector for every token, of shape'),
        ('simmim/vit-b16_in1k', 'timm:vit_tiny_patch16_224', 'SimMIM trains only the backbone of its config'),
    ],
)
def test_refused_in_one_sentence(config: str, name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        with_backbone(config, name)


def test_an_evaluation_of_another_backbone_is_by_a_recipe_for_any() -> None:
    cfg = with_backbone('dino/vit-s16_in1k_0local', 'timm:resnet18')
    assert cfg.config_name == 'dino/resnet18_in1k_0local'
    assert with_backbone('mocov3/vit-s16_in1k', NAME).config_name == 'mocov3/vit-s16_in1k'  # the same model from timm
    (linear,) = planned(['linear'], 'digits', Subject(backbone=cfg.model.backbone.to_dict(), config=cfg))
    assert linear.path.stem == 'patchmix'  # not dino, which is for transformers with a class token


@pytest.mark.long
@pytest.mark.parametrize('name', timm.list_models('*tiny*'))
def test_every_tiny_model_of_timm_builds_with_a_projector(name: str) -> None:
    if name in LEFT_OUT:
        with pytest.raises(UserError, match=LEFT_OUT[name]):
            with_backbone('mocov3/vit-s16_in1k', f'timm:{name}')
        return
    model = build_model(with_backbone('mocov3/vit-s16_in1k', f'timm:{name}')).eval()
    with torch.no_grad():
        assert model.neck(model.extract_features(torch.zeros(2, 3, 224, 224))).shape == (2, 256)
