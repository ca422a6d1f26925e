"""Learning rates that fall from the head to the stem, in the two conventions of fine-tuning recipes."""

from collections.abc import Callable
from functools import partial
from typing import Any

from mmpretrain.engine.optimizers import LearningRateDecayOptimWrapperConstructor
from torch import nn

from mixcl.engine.optimizers.wrappers import FewGroupsConstructor
from mixcl.errors import UserError
from mixcl.registry import OPTIM_WRAPPER_CONSTRUCTORS

LayerDepth = Callable[[str], tuple[int, int]]
"""Function from a parameter's name to its depth and the number of depths."""


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class LayerDecayConstructor(FewGroupsConstructor, LearningRateDecayOptimWrapperConstructor):
    """mmpretrain's layer-wise learning rates, with parameters of equal settings in one group.

    With decay d and L blocks: stem (patch embedding, position embedding, class token) ``d ** (L + 1)``, block b
    ``d ** (L - b)`` for b = 0 to L - 1, final norm and head 1: the convention of BEiT and MAE. Every group holds its
    factor as ``lr_scale``. ``paramwise_cfg`` takes ``layer_decay_rate`` and mmpretrain's other keys.

    Raises:
        UserError: if the backbone cannot tell the depth of its parameters.

    Source: He et al., Masked Autoencoders Are Scalable Vision Learners, 2021, appendix A.1.
    """

    def add_params(self, params: list[dict], module: nn.Module, prefix: str = '', **kwargs: Any) -> None:
        if prefix == '':
            kwargs['get_layer_depth'] = self._checked_depth(module)
        super().add_params(params, module, prefix, **kwargs)

    def _checked_depth(self, model: Any) -> LayerDepth:
        try:
            depth_of = getattr(model, 'get_layer_depth', None)
            if depth_of is None:  # a learner, not a classifier
                depth_of = partial(model.backbone.get_layer_depth, prefix='backbone.')
            for name, _ in model.named_parameters():
                depth_of(name)
        except (AttributeError, NotImplementedError):
            backbone = type(getattr(model, 'backbone', model)).__name__
            raise UserError(
                f'optim_wrapper.constructor={type(self).__name__!r} needs a backbone that tells the depth of its '
                f'layers, which this {backbone} does not; take a recipe without layer decay, such as '
                'configs/evaluation/recipes/finetune/resnet.py for ResNets'
            ) from None
        return depth_of


@OPTIM_WRAPPER_CONSTRUCTORS.register_module()
class TimmLayerDecayConstructor(LayerDecayConstructor):
    """timm's convention: same as :class:`LayerDecayConstructor`, but the final norm goes with the last block.

    The final norm thus has the factor ``d``; only the head has 1. PatchMix fine-tunes with it.

    Source: timm, ``param_groups_layer_decay``.
    """

    def _checked_depth(self, model: Any) -> LayerDepth:
        depth_of = super()._checked_depth(model)

        def depth_with_norm_below(name: str) -> tuple[int, int]:
            depth, number = depth_of(name)
            return depth - name.startswith('backbone.ln1.'), number

        return depth_with_norm_below
