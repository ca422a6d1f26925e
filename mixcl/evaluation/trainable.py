"""Whether a protocol can train the model that its config got from a checkpoint."""

import copy

from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.errors import UserError
from mixcl.registry import MODELS


def check_trainable(cfg: Config) -> None:
    """Build a config's model and optimizer, to meet before anything starts what training would meet.

    Layer-wise learning rates need a backbone that tells the depth of its layers, which not every one does.

    Args:
        cfg: of a protocol that trains; not changed.

    Raises:
        UserError: if model or optimizer cannot be built.
    """
    # How batches are mixed has no part in it, and mmpretrain would log a line about it.
    model = {name: value for name, value in cfg.model.items() if name != 'train_cfg'}
    model.setdefault('data_preprocessor', cfg.get('data_preprocessor'))
    try:
        with DefaultScope.overwrite_default_scope('mixcl'):
            build_optim_wrapper(MODELS.build(copy.deepcopy(model)), copy.deepcopy(cfg.optim_wrapper))
    except UserError as error:
        raise UserError(f'{cfg.config_name} cannot train this backbone: {error}') from error
    except (TypeError, ValueError, KeyError, AttributeError, AssertionError, NotImplementedError) as error:
        raise UserError(
            f'{cfg.config_name} cannot train this backbone ({type(error).__name__}: {" ".join(str(error).split())}): '
            'choose another --recipe or --config for it'
        ) from error
