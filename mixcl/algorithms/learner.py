"""Interface of models to the pretraining loop, its hooks and its evaluation."""

from typing import Any

from mmengine.model import BaseModel
from torch import Tensor

from mixcl.algorithms.checks import check_patches
from mixcl.randomness import StepKey


class Learner(BaseModel):
    """A model that :class:`~mixcl.engine.PretrainLoop` trains: it has a ``backbone``, and losses of a batch of views.

    Steps, checkpoints and views are functions of keys even if a model does nothing in :meth:`begin_step`: the loop
    seeds the global generators by (seed, step, rank) before every step.
    """

    backbone: Any

    def _dump_init_info(self) -> None:
        """Print nothing: mmengine's lists four lines for every parameter."""

    @property
    def encoder_names(self) -> tuple[str, ...]:
        """Names of the encoders that can be evaluated; 'online' is ``backbone``."""
        return ('online',)

    def extract_features(self, images: Tensor, encoder: str = 'online') -> Tensor:
        """Return (B, C) features of normalised images (B, 3, H, W), before any head."""
        raise NotImplementedError

    def check_batch(self, crops: list[Tensor], batch_size: int, processes: int | None = None) -> None:
        """Raise UserError if batches of such crops cannot be used.

        Args:
            crops: all crops of one image, (C, h, w) each.
            batch_size: number of images per process.
            processes: number of processes that train; by default those of this run.
        """
        check_patches(self.backbone, crops)

    def begin_step(self, key: StepKey, epoch: int = 0) -> None:
        """Prepare for a step, given its key and its epoch, from 0. Called before every step."""

    def end_step(self, progress: float, epochs: int, taken: bool | Tensor = True) -> dict[str, float]:
        """Finish a step and return values for the log. Called once after every optimiser step.

        Args:
            progress: share of the run that is over, in (0, 1].
            epochs: length of the run.
            taken: whether the step changed the weights; a float32 scalar, 0 or 1, if only the device knows.
        """
        return {}
