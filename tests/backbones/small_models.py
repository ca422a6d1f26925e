"""Backbones by name, with their widths, small enough for tests; images have sides of 32 pixels."""

import torch
from torch import Tensor, nn

VIT = dict(img_size=32, depth=2, embed_dim=16, num_heads=2)
ROTARY = dict(img_size=32, depth=2, embed_dim=32, num_heads=2, num_reg_tokens=2)


class OwnMap(nn.Module):
    """A user's backbone, which gives a map for each image."""

    def __init__(self, in_channels: int = 3, width: int = 8) -> None:
        super().__init__()
        self.stem = nn.Conv2d(in_channels, width, 4, stride=4)
        self.blocks = nn.Sequential(nn.GELU(), nn.Conv2d(width, width, 3, stride=2, padding=1))

    def forward(self, images: Tensor) -> Tensor:
        return self.blocks(self.stem(images))


def no_module() -> int:
    return 1


def timm(name: str, **arguments: object) -> dict:
    return dict(type='TimmBackbone', name=name, arguments=arguments)


MODELS_AND_WIDTHS = dict(
    vit=(timm('vit_tiny_patch16_224', **VIT), 16),
    dinov2=(timm('vit_small_patch14_dinov2', **VIT | dict(img_size=28)), 16),
    dinov3=(timm('vit_small_patch16_dinov3', **ROTARY), 32),
    clip=(timm('vit_base_patch32_clip_224', **VIT), 16),
    convnext=(timm('convnext_atto', depths=(1, 1, 1, 1), dims=(4, 4, 8, 8), conv_mlp=False), 8),
    swin=(
        timm('swin_tiny_patch4_window7_224', img_size=32, embed_dim=8, depths=(1, 2), num_heads=(1, 2), window_size=4),
        16,
    ),
    resnet=(dict(type='TorchvisionBackbone', name='resnet18', arguments=dict(width_per_group=64)), 512),
    own=(dict(type='ImportedBackbone', path='backbones.small_models:OwnMap', arguments=dict(width=12)), 12),
)


def images(size: int = 32, batch: int = 4, channels: int = 3) -> Tensor:
    return torch.randn(batch, channels, size, size, generator=torch.Generator().manual_seed(1))


class Tokens(nn.Flatten):
    """A module that gives a vector for each pixel, which no backbone may do."""

    def __init__(self) -> None:
        super().__init__(2)
