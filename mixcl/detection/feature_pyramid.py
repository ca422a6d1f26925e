"""Feature maps of several sizes from the single one of a plain vision transformer."""

from mmcv.cnn import ConvModule, build_norm_layer
from mmengine.model import BaseModule
from torch import Tensor, nn

from mixcl.registry import MODELS


@MODELS.register_module()
class SimpleFeaturePyramid(BaseModule):
    """Feature maps at 1/4, 1/2, 1 and 2 times the stride of the backbone's last map, and one more by max-pooling.

    With patches of 16 pixels the maps have strides 4, 8, 16, 32 and 64. All come from the same map: by two
    deconvolutions, one, none, or max-pooling, then normalised 1x1 and 3x3 convolutions to ``out_channels``.

    Source: Li et al., Exploring Plain Vision Transformer Backbones for Object Detection, 2022 (ViTDet), section 3.

    Args:
        in_channels: channels of the backbone's map; a multiple of 4.
        out_channels: channels of every map.
        norm_cfg: normalisation over channels; layer norm by default.
    """

    def __init__(self, in_channels: int, out_channels: int = 256, norm_cfg: dict | None = None) -> None:
        super().__init__()
        norm_cfg = norm_cfg or dict(type='mmpretrain.LN2d', eps=1e-6)
        half, quarter = in_channels // 2, in_channels // 4
        twice = nn.ConvTranspose2d(in_channels, half, 2, stride=2)
        norm = build_norm_layer(norm_cfg, half)[1]
        scalings = [
            (nn.Sequential(twice, norm, nn.GELU(), nn.ConvTranspose2d(half, quarter, 2, stride=2)), quarter),
            (nn.ConvTranspose2d(in_channels, half, 2, stride=2), half),
            (nn.Identity(), in_channels),
            (nn.MaxPool2d(2), in_channels),
        ]
        self.levels = nn.ModuleList(
            nn.Sequential(
                scaling,
                ConvModule(channels, out_channels, 1, norm_cfg=norm_cfg, act_cfg=None),
                ConvModule(out_channels, out_channels, 3, padding=1, norm_cfg=norm_cfg, act_cfg=None),
            )
            for scaling, channels in scalings
        )
        self.coarsest = nn.MaxPool2d(1, stride=2)

    def forward(self, maps: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        """Make five maps (B, out_channels, H', W') with H' = 4H, 2H, H, H/2, H/4 from the last one, (B, C, H, W)."""
        levels = [level(maps[-1]) for level in self.levels]
        return (*levels, self.coarsest(levels[-1]))
