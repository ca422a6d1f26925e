"""Start, training, interruption and continuation of a run."""

from mixcl.engine.runners.keyed_loop import KeyedIterTrainLoop, KeyedTrainLoop
from mixcl.engine.runners.pretrain_loop import ChunkedPretrainLoop, PretrainLoop
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
