"""Reading and checking checkpoints."""

from mixcl.weights.checkpoint import check_fits, load_weights, read_state_dict
