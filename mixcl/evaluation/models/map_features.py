"""Features from the maps of convolutional networks."""

from dataclasses import dataclass

from mmpretrain.models import ResNet
from torch import Tensor, nn
from torch.nn import functional

from mixcl.encoders.output_features import Feature
from mixcl.encoders.outputs import last_output, outputs_of
from mixcl.errors import UserError
from mixcl.registry import MODELS

WINDOWS = ((10, 10, 4), (16, 8, 0), (13, 5, 0), (8, 3, 0), (6, 1, 0))
"""Kernel, stride and padding of the pooling, for the stem and each stage of a ResNet."""


@MODELS.register_module()
class PooledStages(Feature):
    """The stem and the four stages of a ResNet, average-pooled to about 9000 values each ("feat1" to "feat5").

    OpenSelfSup's multi-stage linear probe, which BSIM's tables use. On ResNet-50 and images of 224 pixels the
    features have 9216, 9216, 8192, 9216 and 8192 values.
    """

    def check(self, backbone: nn.Module) -> None:
        if not isinstance(backbone, ResNet) or backbone.num_stages + 1 != len(WINDOWS):
            raise UserError(
                f'PooledStages pools the stem and 4 stages of a ResNet, which a {type(backbone).__name__} does not '
                "have; use feature=dict(type='Output') with other backbones"
            )

    def __call__(self, backbone: ResNet, images: Tensor) -> tuple[Tensor, ...]:
        """Return five tensors (B, D_i)."""
        stem = backbone.stem if backbone.deep_stem else backbone.relu
        stages = [getattr(backbone, name) for name in backbone.res_layers]
        maps = outputs_of([stem, *stages], lambda: backbone(images))
        return tuple(_grid(values, *window) for values, window in zip(maps, WINDOWS, strict=True))


@MODELS.register_module()
@dataclass(frozen=True)
class PooledGrid(Feature):
    """The last map, average-pooled to a small grid and flattened.

    With the defaults the last map of ResNet-50 on 224 pixels becomes 2 x 2 x 2048 values: the feature of the linear
    SVMs on VOC07 (OpenSelfSup; BSIM Table 1).

    Args:
        kernel, stride: of the pooling.
    """

    kernel: int = 6
    stride: int = 1

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """Return ((B, C * h * w),), channel by channel."""
        last = last_output(backbone(images))
        if last.dim() != 4:
            raise UserError(
                f'PooledGrid pools a map, but {type(backbone).__name__} gives features of shape {tuple(last.shape)}; '
                "use feature=dict(type='Output')"
            )
        return (_grid(last, self.kernel, self.stride),)


def _grid(values: Tensor, kernel: int, stride: int, padding: int = 0) -> Tensor:
    if min(values.shape[2:]) + 2 * padding < kernel:
        raise UserError(
            f'a map of {values.shape[2]}x{values.shape[3]} cannot be pooled by windows of {kernel}: '
            'use larger images (the protocol is made for 224 pixels)'
        )
    return functional.avg_pool2d(values, kernel, stride, padding).flatten(1)
