"""A config outside of the repository that replaces the backbone, image size or patches by hand: all else follows."""

from pathlib import Path

import pytest
import timm
import torch
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.algorithms import Learner, StepKey
from mixcl.engine.runners.dry_run import try_views
from mixcl.engine.runners.trial_step import synthetic_batch
from mixcl.recipes.building import build_model
from mixcl.recipes.prepared import prepared

IMAGES = 4
TIMM = "model = dict(backbone=dict(_delete_=True, type='TimmBackbone', name='{}'))"


def written(folder: Path, base: str, *lines: str) -> Config:
    """Return what a run of a user's config trains with."""
    file = folder / 'mine.py'
    file.write_text('\n'.join([f"_base_ = 'mixcl::{base}.py'", *lines]))
    return prepared(file, processes=2)


def trained(cfg: Config) -> Learner:
    """Build the model of a config, and let it compute the gradients of a few images; all must be finite."""
    model = build_model(cfg)
    with DefaultScope.overwrite_default_scope('mixcl'):
        try_views(cfg, model)
        batch = synthetic_batch(cfg, model, IMAGES, 'device')
        model.begin_step(StepKey(0, 0, 0))
        losses = model(**model.data_preprocessor(batch, True), mode='loss')
    loss = sum(value for name, value in losses.items() if 'loss' in name)
    loss.backward()
    gradients = [parameter.grad for parameter in model.backbone.parameters() if parameter.grad is not None]
    assert loss > 0 and gradients and all(gradient.isfinite().all() for gradient in [loss, *gradients])
    return model


def width_into(head: torch.nn.Module) -> int:
    return next(head.parameters()).shape[1]


def test_patchmix_of_timms_vit_tiny_at_96_pixels(tmp_path: Path) -> None:
    cfg = written(tmp_path, 'patchmix/vit-s16_in1k', TIMM.format('vit_tiny_patch16_224'), 'data = dict(size=96)')
    model = trained(cfg)
    assert model.backbone.model.pos_embed.shape == (1, 6 * 6 + 1, 192)
    assert (width_into(model.neck), model.recipe.mixer.patch_size) == (192, 16)


@pytest.mark.parametrize('name', ['resnet18', 'convnext_atto'])
def test_simclr_of_timms_networks(tmp_path: Path, name: str) -> None:
    model = trained(written(tmp_path, 'simclr/r50_in1k', TIMM.format(name), 'data = dict(size=64)'))
    assert width_into(model.neck) == timm.create_model(name).num_features


def test_aps_with_other_patches(tmp_path: Path) -> None:
    cfg = written(tmp_path, 'aps/vit-t2_cifar10', 'model = dict(backbone=dict(patch_size=4))')
    (pair,) = (step for step in cfg.train_dataloader.dataset.dataset.pipeline if step.type == 'SampledPatchPair')
    assert pair.patch_size == 4 and trained(cfg).backbone.pos_embed.shape == (1, 8 * 8 + 1, 192)


def test_moco_v3_of_torchvisions_vit(tmp_path: Path) -> None:
    backbone = "model = dict(backbone=dict(_delete_=True, type='TorchvisionBackbone', name='vit_b_16'))"
    model = trained(written(tmp_path, 'mocov3/vit-s16_in1k', backbone, 'data = dict(size=64)'))
    assert model.backbone.model.encoder.pos_embedding.shape == (1, 4 * 4 + 1, 768)
    assert width_into(model.neck) == 768


def test_patchmix_of_timms_naflexvit(tmp_path: Path) -> None:
    naflex = TIMM.format('naflexvit_base_patch16_gap')
    model = trained(written(tmp_path, 'patchmix/vit-s16_in1k', naflex, 'data = dict(size=64)'))
    assert (width_into(model.neck), model.recipe.mixer.patch_size) == (768, 16)
