"""Passes of the online encoder, and target encoders."""

from mixcl.encoders.sync_batch_norm import SyncBatchNorm
from mixcl.encoders.targets import EMA, EpochwiseEMA, StopGrad, TargetEncoder
