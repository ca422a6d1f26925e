"""Any timm model by its name, with one vector per image."""

from collections.abc import Sequence
from typing import Any

import timm
import torch
from timm.models import Eva, NaFlexVit, VisionTransformer
from timm.models.naflexvit import NaFlexVitCfg
from torch import Tensor, nn

from mixcl.backbones.names import unknown_name
from mixcl.backbones.position_grids import grid_of_tokens, resized
from mixcl.backbones.wrapped_backbone import WrappedBackbone, as_tuple
from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.registry import MODELS, keywords_of

RESERVED_ARGUMENTS = frozenset({'pretrained', 'checkpoint_path', 'num_classes', 'in_chans', 'features_only'})
"""Arguments of timm that users may not set: weights come from ``--pretrained``."""


@MODELS.register_module()
class TimmBackbone(WrappedBackbone):
    """A model of timm as ``timm.create_model(name, num_classes=0)`` returns it, with that model's own pooling.

    (mmpretrain's ``TIMMBackbone`` removes the pooling, and with it the last norm of a ConvNeXt: vision transformers
    return all tokens, and Swin transformers channels-last maps. It also lets timm draw the weights twice.)

    ``patch_size`` and, if it is fixed, ``img_size`` are those of the model; ``arguments`` are those that build it for
    encoding. ``forward`` can drop patches only for timm's ``VisionTransformer`` and ``Eva`` (with rotary
    positions, as in DINOv3).

    Args:
        name: for example 'vit_small_patch16_224', 'convnext_tiny', 'swin_tiny_patch4_window7_224'.
        arguments: arguments of the model, for example ``dict(img_size=96, global_pool='token',
            dynamic_img_size=True)``; the last lets it take local crops.
        in_channels: channels of the images.
        drop_path_rate: rate of dropping residual branches, rising from 0 to the last block.
        frozen_patch_embed: keep the patch embedding as it is (MoCo v3).
        img_size: size of the images, one side or (height, width), for models that embed positions; they then take
            other sizes, too, such as those of local crops, unless
        one_size: all images have it: rotary positions are then computed once, and not by the CPU in every step.
        **training: arguments of :class:`~mixcl.backbones.wrapped_backbone.WrappedBackbone`.

    A model whose class takes no ``img_size`` (ResNet, ConvNeXt) or ``drop_path_rate`` ignores it. What ``arguments``
    give takes precedence.

    Raises:
        UserError: if timm has no such model.
    """

    def __init__(
        self,
        name: str,
        arguments: dict[str, Any] | None = None,
        in_channels: int = 3,
        drop_path_rate: float = 0.0,
        frozen_patch_embed: bool = False,
        img_size: int | Sequence[int] | None = None,
        one_size: bool = False,
        **training: Any,
    ) -> None:
        given = arguments or {}
        wanted: dict[str, Any] = {} if img_size is None else dict(img_size=img_size, dynamic_img_size=not one_size)
        wanted |= dict(drop_path_rate=drop_path_rate) if drop_path_rate else {}
        taken = _taken(wanted, name, given) | given
        model: Any = create_model(name, taken, in_channels)
        super().__init__(model, **training)
        self.arguments = {key: value for key, value in taken.items() if key in given or key != 'drop_path_rate'}
        embedding: Any = getattr(model, 'embeds' if isinstance(model, NaFlexVit) else 'patch_embed', None)
        if frozen_patch_embed and embedding is not None:  # NaFlexViT's has the positions, too
            (embedding.proj if isinstance(model, NaFlexVit) else embedding).requires_grad_(False)
        self.patch_size = embedding.feat_ratio() if hasattr(embedding, 'feat_ratio') else None
        self.img_size = embedding.img_size if getattr(embedding, 'strict_img_size', False) else None
        self.drops_patches = isinstance(model, (VisionTransformer, Eva))

        if self.drops_patches:
            model.register_load_state_dict_pre_hook(_resize_positions)

    @property
    def patch_resolution(self) -> tuple[int, int]:
        """Rows and columns of patches in an image of the model's size."""
        model: Any = self.model
        return model.patch_embed.grid_size

    def forward(self, images: Tensor, tokens: Tensor | None = None) -> tuple[Tensor, ...]:
        """Encode images.

        Args:
            images: (B, C, H, W), normalised.
            tokens: (B, n) int64, distinct indices of the patches to keep, row by row; None keeps all.
        """
        if tokens is None:
            return super().forward(images)
        model: Any = self.model
        random_dropping = model.patch_drop  # timm's random dropping, after the positions are added
        model.patch_drop = KeptPatches(tokens, model.num_prefix_tokens, isinstance(model, Eva))
        try:
            return as_tuple(model(images))
        finally:
            model.patch_drop = random_dropping


def _resize_positions(model: Any, state: dict[str, Tensor], prefix: str, *_: Any) -> None:
    """Resize position embeddings of weights for square images of another size."""
    name, extra = f'{prefix}pos_embed', 0 if model.no_embed_class else model.num_prefix_tokens
    if name in state and model.pos_embed.shape[1] != state[name].shape[1]:
        if (found := grid_of_tokens(state[name].shape[1], extra=[extra])) is None:
            raise UserError(f'{name} has {state[name].shape[1]} tokens, which are no square of patches')
        state[name] = resized(model, state[name], found[1], model.patch_embed.grid_size, extra)


class KeptPatches(nn.Module):
    """A selection of patches in place of timm's random dropping.

    Args:
        tokens: (B, n) indices of the patches to keep.
        num_prefix_tokens: number of tokens before the patches, all kept: class token, registers.
        return_indices: whether to return the indices too, by which rotary positions are then selected.
    """

    def __init__(self, tokens: Tensor, num_prefix_tokens: int, return_indices: bool) -> None:
        super().__init__()
        self.tokens, self.num_prefix_tokens, self.return_indices = tokens, num_prefix_tokens, return_indices

    def forward(self, embedded: Tensor) -> Tensor | tuple[Tensor, Tensor]:
        kept = torch.take_along_dim(embedded[:, self.num_prefix_tokens :], self.tokens[..., None], dim=1)
        kept = torch.cat([embedded[:, : self.num_prefix_tokens], kept], dim=1)
        return (kept, self.tokens) if self.return_indices else kept


def _taken(wanted: dict[str, Any], name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """Return those of the wanted arguments that the class of a model takes."""
    if not wanted:
        return {}
    with torch.device('meta'), undisturbed_generators():
        model = create_model(name, arguments)
    known = {*keywords_of(type(model)), *(keywords_of(NaFlexVitCfg) if isinstance(model, NaFlexVit) else ())}
    return {key: value for key, value in wanted.items() if key in known}


def create_model(name: str, arguments: dict[str, Any], in_channels: int = 3) -> nn.Module:
    """Create a timm model with random weights and no classifier.

    Raises:
        UserError: if timm has no such model, or an argument is one of :data:`RESERVED_ARGUMENTS`.
    """
    if not timm.is_model(name.partition('.')[0]):
        raise UserError(unknown_name('timm', name, timm.list_models()))
    if taken := sorted(RESERVED_ARGUMENTS & arguments.keys()):
        raise UserError(f'TimmBackbone sets {taken[0]} itself; leave it out of arguments={arguments!r}')
    return timm.create_model(name, pretrained=False, num_classes=0, in_chans=in_channels, **arguments)
