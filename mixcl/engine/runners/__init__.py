"""How a run is started, trained, interrupted and continued."""

from mixcl.engine.runners.keyed_loop import KeyedIterTrainLoop, KeyedTrainLoop
from mixcl.engine.runners.pretrain_loop import ChunkedPretrainLoop, PretrainLoop
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel, ShardedStatesHook
