"""A region proposal network for training under bfloat16."""

from mmdet.models import RPNHead
from torch import Tensor

from mixcl.registry import MODELS


@MODELS.register_module()
class FullPrecisionRPNHead(RPNHead):
    """``mmdet.RPNHead`` whose scores and boxes are float32 under autocast too, since mmcv's NMS has no bfloat16."""

    def forward_single(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Scores (B, anchors, H, W) and box deltas (B, 4 anchors, H, W) of one level (B, C, H, W)."""
        scores, deltas = super().forward_single(x)
        return scores.float(), deltas.float()
