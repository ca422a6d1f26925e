"""How a run is started, trained, interrupted and continued."""

from mixcl.engine.runners.chunk_loop import ChunkedPretrainLoop
from mixcl.engine.runners.keyed_loop import KeyedIterTrainLoop, KeyedTrainLoop
from mixcl.engine.runners.sharding import MMFullyShardedDataParallel
from mixcl.engine.runners.train_loop import PretrainLoop
