"""The backbone in a checkpoint as it is exported: which encoder, and what its images go through."""

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from mmengine.config import Config

from mixcl.errors import UserError
from mixcl.evaluation.adaptation import BATCH_NORMS, image_size
from mixcl.evaluation.image_sources import image_pipeline, preprocessor_of
from mixcl.evaluation.recipes import family_of
from mixcl.evaluation.subject import Subject
from mixcl.registry import MODELS, build
from mixcl.weights import load_backbone
from mixcl.weights.export import Exported, Preprocessing

IMAGENET = dict(mean=(123.675, 116.28, 103.53), std=(58.395, 57.12, 57.375))


def exported_of(subject: Subject, encoder: str) -> Exported:
    """Build the backbone and load an encoder of the checkpoint into it."""
    config: dict[str, Any] = dict(subject.backbone or {})
    norm = config.get('norm_cfg') or {}
    if family_of(config) != 'other' and norm.get('type') in BATCH_NORMS:
        config['norm_cfg'] = {**norm, 'type': 'BN'}  # the same function of images and weights
    with torch.random.fork_rng(devices=()):
        backbone = build(MODELS, config)
    load_backbone(backbone, subject.encoders[encoder])
    backbone.float().requires_grad_(False).eval()  # the last returns None in mmpretrain
    source = f'{subject.checkpoint} ({encoder} encoder)'
    return Exported(backbone, config, preprocessing_of(subject.config or Config(), backbone), source)


def preprocessing_of(cfg: Config, backbone: Any) -> Preprocessing:
    """What the images of a config's test or validation go through; as on ImageNet where it does not say."""
    steps: Sequence[Mapping] = ()
    with contextlib.suppress(UserError):  # it has no images
        steps = image_pipeline(cfg)
    sides: list[Any] = [step.get('crop_size') or step.get('scale') for step in steps]
    sides = [side if isinstance(side, int) else side[0] for side in sides if side] or [224]
    resize, crop = sides[0], sides[-1]
    model = getattr(backbone, 'model', backbone)
    embedding = getattr(model, 'patch_embed', None)
    fixed = getattr(embedding, 'init_input_size', None) or getattr(embedding, 'img_size', None)  # mmpretrain's, timm's
    fixed = fixed[0] if fixed else getattr(model, 'image_size', None)  # torchvision's
    size = fixed or (cfg.get('model') and image_size(cfg)) or crop
    channels = next(part.shape[1] for part in backbone.parameters() if part.dim() == 4)
    normalised = preprocessor_of(cfg) or {}
    mean, std = (_per_channel(normalised.get(key) or IMAGENET[key], channels) for key in ('mean', 'std'))
    return Preprocessing(
        channels=channels,
        size=size,
        resize=round(max(resize, crop) * size / crop),
        interpolation=next((step['interpolation'] for step in steps if step.get('interpolation')), 'bicubic'),
        mean=mean,
        std=std,
    )


def _per_channel(values: Sequence[float], channels: int) -> tuple[float, ...]:
    if len(values) not in (1, channels):
        raise UserError(
            f'the backbone takes images of {channels} channels, but its config normalises {len(values)}; name '
            'one with a fitting data_preprocessor by --config'
        )
    # Rounded to the digits in which such numbers are given.
    return tuple(round(value / 255, 6) for value in (values if len(values) == channels else [*values] * channels))
