"""Checkpoints of untrained models, as pretraining and fine-tuning write them."""

import copy
from pathlib import Path

import torch
from evaluation.composed import CONFIGS
from mmengine.config import Config
from mmengine.registry import DefaultScope

from mixcl.recipes.prepared import prepared
from mixcl.registry import MODELS

ARCH = dict(embed_dims=24, num_layers=1, num_heads=6, feedforward_channels=24)  # six heads, as DINO's ViT-S
TINY_VIT = dict(type='ContrastiveViT', arch=ARCH, img_size=224, patch_size=56)


def of_pretraining(path: Path, name: str = 'patchmix/vit-xs4_digits', **arch: int) -> Path:
    """Save a checkpoint of a config whose EMA encoder is unlike the online one; ``arch`` changes the backbone's."""
    cfg = copy.deepcopy(
        prepared(
            CONFIGS / f'{name}.py', cfg_options={f'model.backbone.arch.{key}': value for key, value in arch.items()}
        )
    )
    torch.manual_seed(0)
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = MODELS.build(cfg.model)
    model.init_weights()
    state = model.state_dict()
    for key, value in state.items():
        if key.startswith('target.backbone.') and value.is_floating_point():
            state[key] = value + 0.02 * torch.randn_like(value)
    torch.save(dict(state_dict=state, meta=dict(cfg=cfg.pretty_text, epoch=1)), path)
    return path


def of_classifier(path: Path, cfg: Config, biases: dict[int, float] | None = None, stored: bool = True) -> Path:
    """Save a checkpoint of a config's classifier, with the config if ``stored``.

    ``biases`` of classes, if given, alone decide the answer, whatever the image.
    """
    with DefaultScope.overwrite_default_scope('mixcl'):
        model = MODELS.build(dict(cfg.model, data_preprocessor=cfg.data_preprocessor))
    if biases is not None:
        torch.nn.init.zeros_(model.head.fc.weight)
        torch.nn.init.zeros_(model.head.fc.bias)
        for number, bias in biases.items():
            model.head.fc.bias.data[number] = bias
    torch.save(dict(state_dict=model.state_dict(), meta=dict(cfg=cfg.pretty_text, epoch=1) if stored else {}), path)
    return path
