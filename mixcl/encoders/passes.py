"""Forward passes of a backbone over named streams of images."""

import torch
from torch import Tensor, nn

from mixcl.encoders.sync_batch_norm import has_batch_norm


def backbone_features(backbone: nn.Module, images: dict[str, Tensor]) -> dict[str, Tensor]:
    """Encode every stream once: (R, C) pooled features, or (R, C, h, w) maps, by stream name.

    A backbone with batch normalisation sees each stream on its own, because a batch's rows share statistics there.
    Another one takes all streams of one image size as one batch, which is the same function and faster.
    """
    if has_batch_norm(backbone):
        return {name: _last_output(backbone(batch)) for name, batch in images.items()}
    by_shape: dict[torch.Size, list[str]] = {}
    for name, batch in images.items():
        by_shape.setdefault(batch.shape[1:], []).append(name)
    features = {}
    for names in by_shape.values():
        together = _last_output(backbone(torch.cat([images[name] for name in names])))
        features.update(zip(names, together.split([len(images[name]) for name in names]), strict=True))
    return {name: features[name] for name in images}


def project(neck: nn.Module, features: dict[str, Tensor]) -> dict[str, Tensor]:
    """Project every stream on its own: each has its own batch-norm statistics in the head."""
    return {name: neck(stream) for name, stream in features.items()}


def _last_output(outputs: Tensor | tuple[Tensor, ...]) -> Tensor:
    return outputs[-1] if isinstance(outputs, (tuple, list)) else outputs
