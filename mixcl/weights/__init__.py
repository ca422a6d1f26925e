"""Reading and checking checkpoints."""

from mixcl.weights.checkpoint import check_fits, check_resumable, read_checkpoint, read_state_dict, weights_of
from mixcl.weights.safe_loading import PlainCheckpointHook, load_checkpoints_as_data, load_plain
