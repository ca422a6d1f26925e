"""Which features of a frozen backbone a protocol takes: its output, and what all kinds share."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from mixcl.encoders.passes import pooled_output
from mixcl.heads.mlp import pooled
from mixcl.registry import MODELS


class Feature:
    """Takes (B, D) features, one or several, from a backbone."""

    def check(self, backbone: nn.Module) -> None:
        """Raise :class:`~mixcl.errors.UserError` if backbones of this kind have no such features."""

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor, ...]:
        """Encode images (B, 3, H, W), normalised."""
        raise NotImplementedError


@MODELS.register_module()
class Output(Feature):
    """The last output: the class token of a vision transformer, the average-pooled last map of a ResNet.

    The feature of kNN and of most linear probes (methods of PatchMix, MoCo v3, MixCo, SimSiam).
    """

    def __call__(self, backbone: nn.Module, images: Tensor) -> tuple[Tensor]:
        """((B, C),)."""
        return (pooled_output(backbone(images), backbone),)


@MODELS.register_module()
class PooledOutput(nn.Module):
    """A neck between any backbone and the linear head of a classifier: averages maps, passes vectors on.

    Input: a tuple of (B, C) or (B, C, H, W). Output: a tuple of (B, C). (mmpretrain's ``GlobalAveragePooling`` refuses
    vectors.)
    """

    def forward(self, outputs: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return tuple(pooled(output) for output in outputs)


def outputs_of(modules: Sequence[nn.Module], run: Callable[[], object]) -> list[Tensor]:
    """What the modules give while ``run`` is called."""
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
