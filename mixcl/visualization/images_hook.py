"""Pictures of a run while it trains, for TensorBoard and the other backends of its visualizer."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from mmengine.dist import is_main_process
from mmengine.hooks import Hook
from mmengine.runner import Runner
from torch import Tensor

from mixcl.distributed import unwrapped
from mixcl.errors import UserError
from mixcl.randomness import undisturbed_generators
from mixcl.ranges import COUNT, check_range
from mixcl.recipes.subject import default_encoder
from mixcl.registry import HOOKS
from mixcl.shipped import name_of
from mixcl.weights import backbone_config

if TYPE_CHECKING:  # every run imports the hook, but few draw figures
    from matplotlib.figure import Figure

    from mixcl.visualization.gallery import Gallery

AMONG = 512
"""Number of images that are searched for neighbours."""


def side_of(runner: Runner) -> str:
    """Return the encoder of the model in training that embedding and export use."""
    cfg, sides = runner.cfg, unwrapped(runner.model).encoder_names
    return default_encoder(cfg.get('config_name'), backbone_config(cfg), sides)


@HOOKS.register_module()
class ImagesHook(Hook):
    """Hook that shows views, mixtures, and nearest neighbours of some images, before training and every few epochs.

    The visualizer writes the pictures to TensorBoard, to ``TIME/vis_data/vis_image`` in the folder of the run, and to
    other backends of the config. The step of a picture is the number of epochs. Neighbours are sought among at most 512
    images that the config evaluates on, or trains on if it has no evaluation, by the encoder that embedding uses.
    Pictures that cannot be drawn, such as mixtures of fewer images than the mixer needs, are left out, and the log says
    why.

    Random draws have their own keys and the model's modes are restored, so pretraining is bit-identical with and
    without the hook. The main process draws the figures; all processes encode the images, as sharded models need.

    Args:
        interval: number of epochs between pictures, at least 1.
        num_images: number of images shown, at least what the mixer needs; all if there are fewer.

    Raises:
        UserError: before training, if values are out of range.
    """

    # After the validation of the epoch was logged.
    priority = 'LOW'

    def __init__(self, interval: int = 10, num_images: int = 6) -> None:
        check_range('ImagesHook', COUNT, interval=interval, num_images=num_images)
        self.interval = interval
        self.num_images = num_images

    def before_train(self, runner: Runner) -> None:
        from mixcl.visualization.gallery import gallery_of
        from mixcl.visualization.pictured import Pictured

        self._gallery: Gallery | None = None
        self._warned: set[str] = set()
        with self._warning_once(runner, 'neighbours'), undisturbed_generators():
            self._gallery = gallery_of(Pictured(runner.cfg), AMONG, least=2)
        self._show(runner, runner.epoch)

    @contextmanager
    def _warning_once(self, runner: Runner, name: str) -> Iterator[None]:
        """Warn once why a picture cannot be shown, instead of ending the run."""
        try:
            yield
        except Exception as error:
            reason = str(error) if isinstance(error, UserError) else f'{type(error).__name__}: {error}'
            if name not in self._warned:
                runner.logger.warning(f'ImagesHook shows no {name}: {reason}')
            self._warned.add(name)

    def after_train_epoch(self, runner: Runner) -> None:
        if self.every_n_epochs(runner, self.interval) or self.is_last_train_epoch(runner):
            self._show(runner, runner.epoch + 1)

    def _show(self, runner: Runner, epoch: int) -> None:
        from mixcl.visualization.canvas import pixels

        with undisturbed_generators():
            side, features = side_of(runner), None
            with self._warning_once(runner, 'neighbours'):
                features = self._gallery.features(unwrapped(runner.model), side) if self._gallery else None
            if is_main_process():
                for name, draw in self._figures(runner, features, epoch, side).items():
                    with self._warning_once(runner, name):
                        runner.visualizer.add_image(name, pixels(draw()), epoch)

    def _figures(
        self, runner: Runner, features: Tensor | None, epoch: int, side: str
    ) -> 'dict[str, Callable[[], Figure]]':
        from mixcl.visualization.mix_preview import mixed_streams, mixture_figure
        from mixcl.visualization.neighbours import draw_neighbours
        from mixcl.visualization.views import view_figure

        name = f'{name_of(runner.cfg) or "model"} after {epoch} epochs, {side} encoder'
        images = runner.train_dataloader.dataset
        shared = (runner.cfg, min(self.num_images, len(images)), epoch, images)
        figures: dict[str, Callable[[], Figure]] = dict(views=partial(view_figure, *shared))
        if self._gallery and features is not None:
            rows, nearest = min(self.num_images, len(features)), min(7, len(features) - 1)
            figures['neighbours'] = partial(draw_neighbours, name, runner.cfg, self._gallery, features, rows, nearest)
        if mixed_streams(runner.cfg):
            figures['mixtures'] = partial(mixture_figure, *shared)
        return figures
