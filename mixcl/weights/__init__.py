"""Reading and checking checkpoints."""

from mixcl.weights.checkpoint import check_fits, check_resumable, read_checkpoint, read_state_dict, weights_of
from mixcl.weights.digest import sha256_of
from mixcl.weights.loading import LoadReport, load_backbone
from mixcl.weights.pretrained import ENCODERS, PretrainedBackbone, backbone_config, read_pretrained
from mixcl.weights.safe_loading import PlainCheckpointHook, load_checkpoints_as_data, load_plain
