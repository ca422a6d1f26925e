"""Vision transformers of timm, with one vector per image."""

from typing import Any

from mmpretrain.models import TIMMBackbone

from mixcl.registry import MODELS


@MODELS.register_module()
class TIMMViT(TIMMBackbone):
    """mmpretrain's ``TIMMBackbone``, which gives the vectors of all tokens, with timm's pooling over them.

    The output is a tuple with features (B, C). ``patch_size``, and ``img_size`` where it is fixed, are those of the
    model. For convolutional models ``mmpretrain.TIMMBackbone`` itself will do.

    Args:
        pool: which pooling of timm's: 'token' (class token) or 'avg' (average of the patches).
        **kwargs: of ``mmpretrain.TIMMBackbone``, for example ``model_name='vit_small_patch16_224'``; other arguments
            go to timm, for example ``dynamic_img_size=True`` for local crops.
    """

    def __init__(self, *, pool: str = 'token', **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.timm_model.reset_classifier(0, pool)
        embedding: Any = getattr(self.timm_model, 'patch_embed', None)
        self.patch_size = embedding.patch_size[0] if hasattr(embedding, 'patch_size') else None
        self.img_size = embedding.img_size if getattr(embedding, 'strict_img_size', False) else None
