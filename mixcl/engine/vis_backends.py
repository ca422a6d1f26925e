"""TensorBoard and Weights & Biases with losses and accuracies on one axis, the number of training steps."""

from typing import Any

import numpy as np
from mmengine import visualization
from mmengine.logging import MessageHub

from mixcl.registry import VISBACKENDS


def steps_done(step: int) -> int:
    """Return the number of training steps done, or before training ``step``, which mmengine gives in other units."""
    done = MessageHub.get_current_instance().get_info('iter')
    return step if done is None else done + 1


@VISBACKENDS.register_module()
class TensorboardVisBackend(visualization.TensorboardVisBackend):
    """Same as mmengine's, which puts accuracies at the number of the epoch and losses at that of the step."""

    def add_scalars(self, scalar_dict: dict, step: int = 0, *args: Any, **kwargs: Any) -> None:
        super().add_scalars(scalar_dict, steps_done(step), *args, **kwargs)


@VISBACKENDS.register_module()
class WandbVisBackend(visualization.WandbVisBackend):
    """Same as mmengine's, which ignores steps; these are logged with the values, beside the epoch."""

    def _init_env(self) -> None:
        super()._init_env()
        self._wandb.define_metric('*', step_metric='step')

    def add_scalars(self, scalar_dict: dict, step: int = 0, *args: Any, **kwargs: Any) -> None:
        epoch = MessageHub.get_current_instance().get_info('epoch')
        place = dict(step=steps_done(step)) | ({} if epoch is None else dict(epoch=epoch + 1))
        super().add_scalars(place | scalar_dict, *args, **kwargs)

    def add_image(self, name: str, image: np.ndarray, step: int = 0, **kwargs: Any) -> None:
        self.experiment.log({name: self._wandb.Image(image), 'step': steps_done(step)}, commit=self._commit)
