"""Hooks: checkpoints, health, what the log shows, what a run starts from."""

from mixcl.engine.hooks.banner import BannerHook
from mixcl.engine.hooks.checkpoint_hook import CheckpointHook
from mixcl.engine.hooks.gradient_clip import AdaptiveClipHook, FrozenPrototypesHook, ParameterClipHook
from mixcl.engine.hooks.health import DeferredInfoHook, HealthHook, NonFiniteHook, ThroughputHook
from mixcl.engine.hooks.online_probe import OnlineProbe
from mixcl.engine.hooks.pretrained_hook import PretrainedBackboneHook
from mixcl.engine.hooks.progress_hook import ProgressHook
from mixcl.engine.hooks.sharded_states import ShardedStatesHook
from mixcl.engine.hooks.stored_average import StoredAverageHook
from mixcl.engine.hooks.unreadable_images import UnreadableImagesHook
