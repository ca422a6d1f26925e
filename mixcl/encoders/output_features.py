"""Features that a protocol takes from a frozen backbone: their base class, and the output."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from mixcl.encoders.passes import pooled_output
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
class PooledOutput(nn.Module):
    """Neck between any backbone and the linear head of a classifier: it averages maps and passes vectors on.

    Input: a tuple of (B, C) or (B, C, H, W). Output: a tuple of (B, C). (mmpretrain's ``GlobalAveragePooling`` refuses
    vectors.)
    """

    def forward(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(pooled(output) for output in outputs)


def outputs_of(modules: Sequence[nn.Module], run: Callable[[], object]) -> list[Tensor]:
    """Call ``run`` and return each module's output."""
    outputs: dict[nn.Module, Tensor] = {}
    hooks = [
        module.register_forward_hook(lambda module, _, output: outputs.update({module: output})) for module in modules
    ]
    try:
        run()
    finally:
        for hook in hooks:
            hook.remove()
    return [outputs[module] for module in modules]
