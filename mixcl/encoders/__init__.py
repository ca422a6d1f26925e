"""Forward passes of the online encoder, and target encoders."""

from mixcl.encoders.output_features import Feature, Output, PooledOutput, Tokens
from mixcl.encoders.shuffled_ema import ShuffledEMA
from mixcl.encoders.targets import EMA, EpochwiseEMA, Shared, StopGrad, TargetEncoder
