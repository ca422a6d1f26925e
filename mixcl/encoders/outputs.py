"""The outputs of a backbone, or of modules in it."""

from collections.abc import Callable, Sequence

from torch import Tensor, nn

from mixcl.errors import UserError
from mixcl.heads.mlp import pooled


def pooled_output(outputs: Tensor | Sequence[Tensor], backbone: nn.Module) -> Tensor:
    """Return (B, C) from the last output of a backbone: a class token, or a map averaged over space.

    Raises:
        UserError: if the output is one vector for every token.
    """
    last = last_output(outputs)
    if last.dim() == 3:
        raise UserError(
            f'{type(backbone).__name__} gives one vector for every token, of shape {tuple(last.shape)}, but '
            "a backbone must give one for every image; choose out_type='cls_token', or TimmBackbone for models of timm"
        )
    return pooled(last)


def last_output(outputs: Tensor | Sequence[Tensor]) -> Tensor:
    """Return the output of a backbone, or the last of several."""
    return outputs if isinstance(outputs, Tensor) else outputs[-1]


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
