"""The blocks that a network is a sequence of."""

from collections.abc import Iterator

from torch import nn


def blocks_of(module: nn.Module) -> Iterator[nn.Module]:
    """The members of the outermost lists and sequences in a module, as far as they have parameters.

    Of a vision transformer its layers, of a ResNet the residual blocks of its stages.
    """
    for child in module.children():
        if not isinstance(child, (nn.ModuleList, nn.Sequential)):
            yield from blocks_of(child)
            continue
        for member in child.children():
            if any(True for _ in member.parameters()):
                yield member
