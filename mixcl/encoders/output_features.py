"""Features that a protocol takes from a frozen backbone: their base class, and the output."""

from torch import Tensor, nn

from mixcl.encoders.outputs import pooled_output
from mixcl.encoders.tokens import tokens_of
from mixcl.heads.mlp import pooled
from mixcl.registry import MODELS


class Feature:
    """Extractor of (B, D) features, one or several, from a backbone."""

    def check(self, backbone: nn.Module) -> None:
        """Raise :class:`~mixcl.errors.UserError` if backbones of this kind have no such features."""

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor, ...]:
        """Encode normalised images (B, 3, H, W)."""
        raise NotImplementedError


@MODELS.register_module()
class Output(Feature):
    """The last output: the class token of a vision transformer, the average-pooled last map of a ResNet.

    The feature of kNN and of most linear probes (methods of PatchMix, MoCo v3, MixCo, SimSiam).
    """

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """Return ((B, C),)."""
        return (pooled_output(backbone(images), backbone),)


@MODELS.register_module()
class Tokens(Feature):
    """The tokens of all cells of an image, see :func:`~mixcl.encoders.tokens.tokens_of`."""

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """Return ((B, h, w, C),)."""
        return (tokens_of(backbone, images),)


@MODELS.register_module()
class PooledOutput(nn.Module):
    """Neck between any backbone and the linear head of a classifier: it averages maps and passes vectors on.

    Input: a tuple of (B, C) or (B, C, H, W). Output: a tuple of (B, C). (mmpretrain's ``GlobalAveragePooling`` refuses
    vectors.)
    """

    def forward(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(pooled(output) for output in outputs)
