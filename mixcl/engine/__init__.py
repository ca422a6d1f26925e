"""Train loop, hooks, schedules and optimiser wrappers that mmengine lacks."""

from mixcl.engine.adaptive_clip import AdaptiveClipHook
from mixcl.engine.banner import BannerHook
from mixcl.engine.checkpoint_hook import CheckpointHook
from mixcl.engine.chunk_loop import ChunkedPretrainLoop
from mixcl.engine.environment import EnvironmentHook
from mixcl.engine.frozen_prototypes import FrozenPrototypesHook
from mixcl.engine.health import DeferredInfoHook, HealthHook, NonFiniteHook, ThroughputHook
from mixcl.engine.keyed_loop import KeyedIterTrainLoop, KeyedTrainLoop
from mixcl.engine.lars import MoCoLARS
from mixcl.engine.layer_decay import LayerDecayConstructor, TimmLayerDecayConstructor
from mixcl.engine.optimizers import BFloat16OptimWrapper, FewGroupsConstructor
from mixcl.engine.parameter_clip import ParameterClipHook
from mixcl.engine.pretrained_hook import PretrainedBackboneHook
from mixcl.engine.representation_hook import RepresentationHook
from mixcl.engine.schedules import CutWarmupCosineLR, WarmupCosineLR
from mixcl.engine.sharded_states import ShardedStatesHook
from mixcl.engine.sharding import MMFullyShardedDataParallel
from mixcl.engine.stored_average import StoredAverageHook
from mixcl.engine.timm_schedule import TimmCosineLR
from mixcl.engine.train_loop import PretrainLoop
from mixcl.engine.unreadable_images import UnreadableImagesHook
