"""Heads of detectors: a region proposal network for bfloat16, and C4 heads with their pretrained stage."""

from importlib import reload

from mmdet.models import RPNHead
from mmengine.hooks import Hook
from mmengine.runner import Runner
from mmpretrain.models.utils import res_layer_extra_norm
from torch import Tensor

from mixcl.distributed import unwrapped
from mixcl.engine.hooks.pretrained_hook import PretrainedBackboneHook
from mixcl.quiet_log import FOR_PEOPLE
from mixcl.registry import HOOKS, MODELS
from mixcl.weights import load_pretrained, read_pretrained

if res_layer_extra_norm.ResLayerExtraNorm is None:  # in commands, which import mmpretrain without mmdet
    reload(res_layer_extra_norm)  # registers it for mmdet


@MODELS.register_module()
class FullPrecisionRPNHead(RPNHead):
    """``mmdet.RPNHead`` whose scores and boxes are float32 under autocast too, since mmcv's NMS has no bfloat16."""

    def forward_single(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Compute scores (B, anchors, H, W) and box deltas (B, 4 anchors, H, W) of one level (B, C, H, W)."""
        scores, deltas = super().forward_single(x)
        return scores.float(), deltas.float()


@HOOKS.register_module()
class PretrainedSharedHeadHook(Hook):
    """Loads ``roi_head.shared_head`` from the checkpoint that ``--pretrained`` loads the backbone from.

    C4 detectors compute image features with the first three stages and box features with the fourth. The norm after the
    fourth stage (mmpretrain's ``ResLayerExtraNorm``) is new.

    Source: MoCo's detection protocol (He et al., Momentum Contrast, 2020, appendix).
    """

    priority = 'VERY_HIGH'

    def before_train(self, runner: Runner) -> None:
        if runner._has_loaded:
            return
        model = unwrapped(runner.model)
        for hook in runner.hooks:
            if isinstance(hook, PretrainedBackboneHook):
                pretrained = read_pretrained(hook.checkpoint, hook.encoder)
                report = load_pretrained(model.roi_head.shared_head, pretrained, new=('norm.*',))
                text = f'shared head from the {pretrained.encoder} encoder in {hook.checkpoint}: {report}'
                runner.logger.info(text, extra=FOR_PEOPLE)
