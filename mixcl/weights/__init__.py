"""Reading, checking and writing checkpoints."""

from mixcl.weights.checkpoint import check_fits, check_resumable, read_checkpoint, read_state_dict, weights_of
from mixcl.weights.digest import sha256_of
from mixcl.weights.finite import non_finite, training_state
from mixcl.weights.loading import LoadReport, check_heads, check_known, load_backbone
from mixcl.weights.newest import newest_checkpoint
from mixcl.weights.plain_state import make_plain, restore_history
from mixcl.weights.pretrained import (
    ENCODERS,
    PretrainedBackbone,
    backbone_config,
    read_pretrained,
    stored_config,
)
from mixcl.weights.safe_loading import allow_pickle, load_checkpoints_as_data, load_plain, local_file
from mixcl.weights.whole_files import WHOLE_FILES, write_whole
