"""Learning rates that fall from a detector's neck and heads to the stem of its backbone."""

from functools import partial

from torch import nn

from mixcl.engine.optimizers.layer_decay import LayerDecayConstructor, LayerDepth
from mixcl.errors import UserError
from mixcl.registry import OPTIM_WRAPPER_CONSTRUCTORS


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class DetectorLayerDecayConstructor(LayerDecayConstructor):
    """:class:`~mixcl.engine.optimizers.LayerDecayConstructor` for detectors; the depth is that within ``backbone``.

    With decay d and L blocks: stem ``d ** (L + 1)``, block b ``d ** (L - b)`` for b = 0 to L - 1, all else 1.

    Raises:
        UserError: if the backbone cannot tell the depth of its parameters.

    Source: Li et al., Exploring Plain Vision Transformer Backbones for Object Detection, 2022 (ViTDet), appendix.
    """

    def _checked_depth(self, model: nn.Module) -> LayerDepth:
        backbone = getattr(model, 'backbone', None)
        depth = getattr(backbone, 'get_layer_depth', None)
        if depth is None:
            raise UserError(
                f'optim_wrapper.constructor={type(self).__name__!r} needs a backbone that tells the depth of its '
                f'layers, which {type(backbone).__name__} does not; use DetectionViT, or a recipe without layer decay'
            )
        return partial(depth, prefix='backbone.')
