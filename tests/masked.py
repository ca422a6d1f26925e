"""mmpretrain's algorithms and their views for small images, and one step of MAE and SimMIM in several processes.

This is a module of its own because the processes cannot import test modules.
"""

from unittest.mock import patch

import torch
from mmengine.model import MMDistributedDataParallel
from mmpretrain.structures import DataSample
from torch import Tensor

from mixcl.algorithms import Learner
from mixcl.registry import MODELS, build

ARCH = dict(embed_dims=24, num_layers=2, num_heads=2, feedforward_channels=48)
VIT = dict(arch=ARCH, img_size=8, patch_size=2)
CROP = dict(type='mmpretrain.RandomResizedCrop', scale=8, crop_ratio_range=(0.5, 1.0), backend='pillow')
RESNET = dict(type='mmpretrain.ResNet', depth=18, base_channels=8, stem_channels=8)
PIXELS = dict(type='mmpretrain.PixelReconstructionLoss')
BLOCKS = dict(type='mmpretrain.SimMIMMaskGenerator', input_size=8, mask_patch_size=4, model_patch_size=2)
ALGORITHMS = dict(
    mae=dict(
        type='MAE',
        backbone=dict(type='mmpretrain.MAEViT', out_type='featmap', **VIT),
        neck=dict(
            type='mmpretrain.MAEPretrainDecoder', num_patches=16, patch_size=2, embed_dim=24, decoder_embed_dim=16,
            decoder_depth=1, decoder_num_heads=2,
        ),
        head=dict(type='mmpretrain.MAEPretrainHead', norm_pix=True, patch_size=2, loss=PIXELS | dict(criterion='L2')),
    ),
    simmim=dict(
        type='SimMIM',
        backbone=dict(type='DINOViT', mask_token=True, out_type='featmap', **VIT),
        neck=dict(type='mmpretrain.SimMIMLinearDecoder', in_channels=24, encoder_stride=2),
        head=dict(type='mmpretrain.SimMIMHead', patch_size=2, loss=PIXELS | dict(criterion='L1', channel=3)),
    ),
    maskfeat=dict(
        type='MaskFeat',
        backbone=dict(type='mmpretrain.MaskFeatViT', out_type='featmap', **VIT | dict(img_size=28)),
        neck=dict(type='mmpretrain.LinearNeck', in_channels=24, out_channels=27, norm_cfg=None),
        head=dict(type='mmpretrain.MIMHead', loss=PIXELS | dict(criterion='L2')),
        target_generator=dict(type='mmpretrain.HOGGenerator', nbins=9, pool=2, gaussian_window=2),
    ),
    barlowtwins=dict(
        type='BarlowTwins',
        backbone=RESNET,
        neck=dict(type='mmpretrain.NonLinearNeck', in_channels=64, hid_channels=32, out_channels=32),
        head=dict(
            type='mmpretrain.LatentCrossCorrelationHead', in_channels=32,
            loss=dict(type='mmpretrain.CrossCorrelationLoss'),
        ),
    ),
    densecl=dict(
        type='DenseCL',
        backbone=RESNET,
        neck=dict(type='mmpretrain.DenseCLNeck', in_channels=64, hid_channels=32, out_channels=16, num_grid=None),
        head=dict(
            type='mmpretrain.ContrastiveHead', temperature=0.2,
            loss=dict(type='mmpretrain.CrossEntropyLoss', loss_weight=1.0),
        ),
        queue_len=32, feat_dim=16,
    ),
)  # fmt: skip
SIDES = dict(maskfeat=28)
"""Sides of images in pixels, 8 for others: MaskFeat's targets are for 14x14 patches."""

MASKED = ('simmim', 'maskfeat')
"""Algorithms whose masks come from the pipeline."""


def changes(name: str) -> dict:
    """Return what a run of an algorithm overrides in a tiny run."""
    count = 2 if name in ('barlowtwins', 'densecl') else 1
    side = SIDES.get(name, 8)
    views = dict(type='KeyedMultiView', num_views=[count], transforms=[[CROP | dict(scale=side)]])
    pipeline = [views, *[BLOCKS | dict(input_size=side)] * (name in MASKED), dict(type='mmpretrain.PackInputs')]
    model = {**ALGORITHMS[name], '_delete_': True}
    return dict(model=model, train_dataloader__dataset__dataset__pipeline=pipeline)


def built(name: str) -> Learner:
    torch.manual_seed(0)
    learner = build(MODELS, ALGORITHMS[name])
    learner.init_weights()
    return learner.double()


def batch(rank: int, count: int = 4) -> tuple[Tensor, list[DataSample], Tensor]:
    """Return images, samples with masks, and the noise by which MAE chooses its patches."""
    random = torch.Generator().manual_seed(rank)
    images = torch.randn(count, 3, 8, 8, generator=random, dtype=torch.float64)
    noise = torch.rand(count, 16, generator=random, dtype=torch.float64)
    masks = (noise.argsort(dim=1).argsort(dim=1) < 10).long().unflatten(1, (4, 4))
    return images, [DataSample(mask=mask) for mask in masks], noise


def gradients(name: str, *parts: tuple, parallel: bool = False) -> dict[str, Tensor]:
    """Return the gradients of one step's loss on the images of all parts, with the given masks."""
    learner = built(name)
    model = MMDistributedDataParallel(learner, broadcast_buffers=False) if parallel else learner
    images, samples, noise = zip(*parts, strict=True)
    with patch.object(torch, 'rand', lambda *size, **options: torch.cat(noise)):
        loss = model([torch.cat(images)], [sample for part in samples for sample in part], mode='loss')['loss']
    loss.backward()
    return {key: parameter.grad for key, parameter in learner.named_parameters() if parameter.requires_grad}


def step(rank: int) -> dict[str, dict[str, Tensor]]:
    """Return the gradients of one of two processes."""
    return {name: gradients(name, batch(rank), parallel=True) for name in ('mae', 'simmim')}
