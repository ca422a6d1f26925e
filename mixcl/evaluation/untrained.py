"""The model of a config as it is initialised."""

from mmengine.config import Config
from mmengine.logging import MMLogger
from mmengine.model import BaseModel

from mixcl.quiet_log import quieten
from mixcl.randomness import seed_global_generators
from mixcl.recipes.paths import whole_model
from mixcl.registry import MODELS, build


def untrained(cfg: Config, seed: int) -> BaseModel:
    """Build the model of a config with its initial weights, on the CPU."""
    seed_global_generators(seed, 'random encoder')
    quieten(MMLogger.get_instance('mmengine'))  # init_weights logs every parameter
    model = build(MODELS, whole_model(cfg))
    model.init_weights()
    return model
