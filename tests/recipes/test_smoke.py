"""One step of every config at the size of --smoke."""

import functools
import math

import pytest
import torch
from configuration.all_configs import CONFIGS, read
from mmengine.config import Config
from mmengine.dataset import default_collate
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.recipes.building import build_model
from mixcl.recipes.prepared import prepared
from mixcl.registry import DATASETS


@functools.cache
def shrunk(name: str) -> Config:
    return prepared(CONFIGS[name], smoke=True)


def one_step(cfg: Config) -> tuple[torch.nn.Module, list[torch.Tensor], dict[str, torch.Tensor]]:
    """Run one batch of the config's own data forward and backward; return the model, views and outputs."""
    with DefaultScope.overwrite_default_scope('mixcl'):
        dataset = DATASETS.build(cfg.train_dataloader.dataset)
        model = build_model(cfg)
    model.init_weights()
    batch = default_collate([dataset[index] for index in range(cfg.train_dataloader.batch_size)])
    model.check_batch([view[0] for view in batch['inputs']], cfg.train_dataloader.batch_size)
    if hasattr(model, 'chunk'):
        batch = model.chunk(batch, 0)
    data = model.data_preprocessor(batch, True)
    outputs = model(**data, mode='loss')
    views = data['inputs']
    total, _ = model.parse_losses(outputs)
    total.backward()
    return model, views, outputs


def test_what_makes_the_method_stays_as_it_was() -> None:
    for name in CONFIGS:
        full, cfg = read(name), shrunk(name)
        for part in ('streams', 'terms', 'views', 'joint', 'swap_views', 'shared_plan'):
            assert cfg.model.get(part) == full.model.get(part), name
        for part in ('mixer', 'target', 'objective'):
            assert (cfg.model.get(part) or {}).get('type') == (full.model.get(part) or {}).get('type'), name


ONE_OF_EACH_METHOD = list({name.partition('/')[0]: name for name in CONFIGS}.values())


@pytest.mark.parametrize('names', [ONE_OF_EACH_METHOD, pytest.param(list(CONFIGS), marks=pytest.mark.long)], ids=len)
def test_one_step_of_every_config(names: list[str]) -> None:
    taken = set()
    for name in names:
        cfg = shrunk(name)
        what = str((cfg.model, cfg.train_dataloader.dataset))
        if what not in taken:
            taken.add(what)
            check_step(cfg, *one_step(cfg))


def check_step(cfg: Config, model: torch.nn.Module, views: list[torch.Tensor], outputs: dict) -> None:
    assert len(views[0]) == 8
    patch = getattr(model.backbone, 'patch_size', None) or cfg.model.backbone.get('patch_size')
    for view in views:
        height, width = view.shape[-2:]
        if patch:
            assert height % patch == width % patch == 0
            assert (height // patch) * (width // patch) <= 16
        else:
            assert max(height, width) <= (56 if len(views) == 2 else 112)  # a ResNet's local crops are half of it
    if 'patch_size' in cfg.model.backbone:
        assert len(model.backbone.layers) <= 2
    losses = {key for key in outputs if 'loss' in key}
    if 'terms' in cfg.model:
        widths = [layer.out_features for head in (model.neck, model.predictor) for layer in head.modules()
                  if isinstance(layer, torch.nn.Linear)]  # fmt: skip
        most = 384 if cfg.model.target.type == 'Teacher' else 256  # the teacher's width
        assert max(widths) <= (most if cfg.model.neck.get('hidden_channels') else 2048)
        assert losses == {term.name for term in model.table.terms}
    else:  # an algorithm of mmpretrain
        assert losses == {'loss'}
    assert all(math.isfinite(value.item()) for value in outputs.values())
    for parameter in model.parameters():
        assert not parameter.requires_grad or parameter.grad.isfinite().all()


def test_only_recipes_have_a_smoke_size() -> None:
    with pytest.raises(UserError, match=r'`smoke` changes the facts of a recipe, but .* has sections only'):
        prepared('configs/transfer/shapes/mask-rcnn_vit-xs16.py', smoke=True)


def test_whole_patches_for_transformers_of_timm() -> None:
    backbone = dict(_delete_=True, type='TimmBackbone', name='vit_tiny_patch16_224', arguments=dict(depth=1))
    cfg = prepared(CONFIGS['patchmix/vit-s16_in1k'], smoke=True, cfg_options={'model.backbone': backbone})
    _, views, outputs = one_step(cfg)
    assert {tuple(view.shape[-2:]) for view in views} == {(64, 64)}
    assert all(math.isfinite(value.item()) for value in outputs.values())
