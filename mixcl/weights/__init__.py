"""Reading, checking and writing checkpoints."""

from mixcl.files import WHOLE_FILES, sha256_of
from mixcl.weights.checkpoint import (
    allow_pickle,
    check_fits,
    load_checkpoints_as_data,
    local_file,
    non_finite,
    read_checkpoint,
    read_state_dict,
    weights_of,
)
from mixcl.weights.pretrained import (
    ENCODERS,
    LoadReport,
    PretrainedBackbone,
    backbone_config,
    check_heads,
    check_known,
    load_backbone,
    read_pretrained,
)
from mixcl.weights.run_state import check_resumable, make_plain, newest_checkpoint, restore_history, training_state
from mixcl.weights.stored_config import stored_config
