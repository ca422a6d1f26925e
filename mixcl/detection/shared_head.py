"""The last stage of a pretrained ResNet, which C4 detectors have in their head."""

import mmpretrain.models.utils  # noqa: F401  (registers ResLayerExtraNorm for mmdet)
from mmengine.hooks import Hook
from mmengine.model import is_model_wrapper
from mmengine.runner import Runner

from mixcl.engine.hooks.pretrained_hook import PretrainedBackboneHook
from mixcl.registry import HOOKS
from mixcl.weights import load_backbone, read_pretrained


@HOOKS.register_module()
class PretrainedSharedHeadHook(Hook):
    """Loads ``roi_head.shared_head`` from the checkpoint that ``--pretrained`` loads the backbone from.

    C4 detectors compute their features with the first three stages, and what is within each box with the fourth. The
    norm after it (mmpretrain's ``ResLayerExtraNorm``) is new.

    Source: MoCo's detection protocol (He et al., Momentum Contrast, 2020, appendix).
    """

    priority = 'VERY_HIGH'

    def before_train(self, runner: Runner) -> None:
        if runner._has_loaded:
            return
        model = runner.model.module if is_model_wrapper(runner.model) else runner.model
        for hook in runner.hooks:
            if isinstance(hook, PretrainedBackboneHook):
                pretrained = read_pretrained(hook.checkpoint, hook.encoder)
                report = load_backbone(model.roi_head.shared_head, pretrained, new=('norm.*',))
                runner.logger.info(f'shared head from the {pretrained.encoder} encoder in {hook.checkpoint}: {report}')
