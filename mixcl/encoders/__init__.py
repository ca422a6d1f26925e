"""Forward passes of the online encoder, and target encoders."""

from mixcl.encoders.shuffled_ema import ShuffledEMA
from mixcl.encoders.sync_batch_norm import SyncBatchNorm
from mixcl.encoders.targets import EMA, EpochwiseEMA, Shared, StopGrad, TargetEncoder
