"""Train loop, hooks, schedules and optimiser wrappers that mmengine lacks."""

from mixcl.engine.banner import BannerHook
from mixcl.engine.optimizers import BFloat16OptimWrapper, FewGroupsConstructor
from mixcl.engine.schedules import WarmupCosineLR
from mixcl.engine.train_loop import PretrainLoop
from mixcl.engine.unreadable_images import UnreadableImagesHook
