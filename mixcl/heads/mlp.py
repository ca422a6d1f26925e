"""Projection and prediction heads."""

from mmpretrain.models.necks import NonLinearNeck
from torch import Tensor

from mixcl.registry import MODELS


@MODELS.register_module()
class MLPHead(NonLinearNeck):
    """A multi-layer perceptron in the style of MoCo v3, used as projector and as predictor.

    Linear layers without bias; after each hidden one batch normalisation and ReLU, after the last one batch
    normalisation without affine parameters (``last_norm``). Statistics are those of all processes. This is
    mmpretrain's ``NonLinearNeck``, with the same parameter names, set up as the papers use it.

    Args:
        in_channels: width of the input.
        hidden_channels: width of the hidden layers.
        out_channels: width of the output.
        num_layers: number of linear layers, at least 2. MoCo v3 and PatchMix: 3 in the projector, 2 in the predictor.
        last_norm: whether the output is batch-normalised.

    Input: (B, C), or (B, C, H, W), which is averaged over space. Output: (B, out_channels).
    """

    def __init__(
        self, in_channels: int, hidden_channels: int, out_channels: int, num_layers: int = 2, last_norm: bool = True
    ) -> None:
        super().__init__(
            in_channels,
            hidden_channels,
            out_channels,
            num_layers,
            with_last_bn=last_norm,
            with_last_bn_affine=False,
            with_avg_pool=False,
            norm_cfg=dict(type='mixcl.SyncBatchNorm'),
            init_cfg=None,
        )
        self.in_channels = in_channels

    def forward(self, features: Tensor) -> Tensor:
        if features.dim() == 4:
            features = features.mean(dim=(2, 3))
        return super().forward((features,))[0]
