"""Projection head of DINO."""

from torch import Tensor, nn
from torch.nn import functional
from torch.nn.utils.parametrizations import weight_norm

from mixcl.heads.mlp import pooled
from mixcl.registry import MODELS


@MODELS.register_module()
class DINOHead(nn.Module):
    """Three GELU layers to a bottleneck, L2 normalisation, and prototypes with normalised weights ("Emerging
    Properties in Self-Supervised Vision Transformers", 2021, appendix C).

    Args:
        in_channels: width of the input.
        out_channels: K, the number of prototypes.
        hidden_channels: width of the two hidden layers.
        bottleneck_channels: width before the prototypes.
        normalised_prototypes: keep every prototype at length 1 (DINO's ``norm_last_layer``, for ViT-B).

    Input: (B, C), or (B, C, H, W), which is averaged over space. Output: (B, K).
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        hidden_channels: int = 2048,
        bottleneck_channels: int = 256,
        normalised_prototypes: bool = False,
    ) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(in_channels, hidden_channels),
            nn.GELU(),
            nn.Linear(hidden_channels, hidden_channels),
            nn.GELU(),
            nn.Linear(hidden_channels, bottleneck_channels),
        )
        for layer in self.layers:
            if isinstance(layer, nn.Linear):
                nn.init.trunc_normal_(layer.weight, std=0.02)
                nn.init.zeros_(layer.bias)
        self.prototypes = weight_norm(nn.Linear(bottleneck_channels, out_channels, bias=False))
        length = self.prototypes.parametrizations.weight.original0
        nn.init.ones_(length)
        length.requires_grad_(not normalised_prototypes)

    def forward(self, features: Tensor) -> Tensor:
        return self.prototypes(functional.normalize(self.layers(pooled(features)), dim=1))
