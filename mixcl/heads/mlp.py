"""Projection and prediction heads."""

from mmpretrain.models.necks import NonLinearNeck
from torch import Tensor, nn

from mixcl.heads.sync_batch_norm import SyncBatchNorm
from mixcl.registry import MODELS


@MODELS.register_module()
class MLPHead(NonLinearNeck):
    """A multi-layer perceptron with batch normalisation, used as projector and as predictor.

    Linear, batch normalisation, ReLU, ..., linear, and batch normalisation again (``last_norm``). Statistics are
    taken over all processes. This is mmpretrain's ``NonLinearNeck``, with the same parameter names. The defaults are
    MoCo v3's; SimCLR, BYOL and SimSiam differ in biases and in the last normalisation.

    Args:
        in_channels: width of the input.
        hidden_channels: width of the hidden layers.
        out_channels: width of the output.
        num_layers: number of linear layers, at least 2. MoCo v3 and PatchMix: 3 in the projector, 2 in the predictor.
        last_norm: whether the output is batch-normalised.
        last_affine: whether the last normalisation has a scale and an offset.
        bias: whether the hidden linear layers have a bias.
        last_bias: whether the last linear layer has a bias.

    Input: (B, C), or (B, C, H, W), which is averaged over space. Output: (B, out_channels).
    """

    def __init__(
        self,
        in_channels: int,
        hidden_channels: int,
        out_channels: int,
        num_layers: int = 2,
        last_norm: bool = True,
        last_affine: bool = False,
        bias: bool = False,
        last_bias: bool = False,
    ) -> None:
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            with_bias=bias,
            with_last_bn=last_norm,
            with_last_bn_affine=last_affine,
            with_last_bias=last_bias,
            with_avg_pool=False,
            norm_cfg=dict(type=SyncBatchNorm),
            init_cfg=None,
        )

    def forward(self, features: Tensor) -> Tensor:
        return super().forward((pooled(features),))[0]


@MODELS.register_module()
class PlainHead(nn.Sequential):
    """Linear layers with ReLU between them and no normalisation (MoCo v1: one layer, MoCo v2 and MixCo: two).

    Args:
        in_channels: width of the input.
        out_channels: width of the output.
        hidden_channels: width of a hidden layer, or None for a single linear layer.

    Input: (B, C), or (B, C, H, W), which is averaged over space. Output: (B, out_channels).
    """

    def __init__(self, in_channels: int, out_channels: int, hidden_channels: int | None = None) -> None:
        if hidden_channels is None:
            super().__init__(nn.Linear(in_channels, out_channels))
        else:
            super().__init__(
                nn.Linear(in_channels, hidden_channels), nn.ReLU(), nn.Linear(hidden_channels, out_channels)
            )

    def forward(self, features: Tensor) -> Tensor:
        return super().forward(pooled(features))


def pooled(features: Tensor) -> Tensor:
    """Return features (B, C) as they are, and average maps (B, C, H, W) over space."""
    return features.mean(dim=(2, 3)) if features.dim() == 4 else features
