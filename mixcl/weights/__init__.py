"""Reading, checking and writing checkpoints."""

import mixcl.quiet_imports
from mixcl.files import WHOLE_FILES, sha256_of
from mixcl.weights.backbone_config import backbone_config, image_shape
from mixcl.weights.checkpoint import (
    allow_pickle,
    load_checkpoints_as_data,
    non_finite,
    read_checkpoint,
    weights_of,
)
from mixcl.weights.encoder import RANDOM, Encoder, load_encoder
from mixcl.weights.named import NamedWeights, local_file, weights_named
from mixcl.weights.pretrained import (
    ENCODERS,
    PretrainedBackbone,
    check_fits,
    encoders_in,
    load_pretrained,
    read_pretrained,
)
from mixcl.weights.run_state import (
    check_resumable,
    checkpoint_in,
    make_plain,
    newest_checkpoint,
    restore_history,
    training_state,
)
from mixcl.weights.stored_config import stored_config
from mixcl.weights.stored_parts import check_size, checked_part, checked_run
