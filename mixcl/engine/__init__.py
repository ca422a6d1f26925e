"""Train loop, hooks, schedules and optimiser wrappers that mmengine lacks."""

from mixcl.engine.adaptive_clip import AdaptiveClipHook
from mixcl.engine.banner import BannerHook
from mixcl.engine.chunk_loop import ChunkedPretrainLoop
from mixcl.engine.frozen_prototypes import FrozenPrototypesHook
from mixcl.engine.lars import MoCoLARS
from mixcl.engine.optimizers import BFloat16OptimWrapper, FewGroupsConstructor
from mixcl.engine.parameter_clip import ParameterClipHook
from mixcl.engine.schedules import CutWarmupCosineLR, WarmupCosineLR
from mixcl.engine.train_loop import PretrainLoop
from mixcl.engine.unreadable_images import UnreadableImagesHook
