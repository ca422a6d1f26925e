"""Names unreadable images in the log."""

from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.registry import HOOKS


@HOOKS.register_module()
class UnreadableImagesHook(Hook):
    """Logs the files that :class:`mixcl.datasets.keyed.KeyedDataset` could not read, and counts them.

    Each process logs what it met, each path once, with its reason. Once there was one, the number of different
    unreadable files that this process has met is the scalar ``train/unreadable_images``.
    """

    def __init__(self) -> None:
        self.paths: set[str] = set()

    def _before_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | tuple | list | None = None, mode: str = 'train'
    ) -> None:
        samples = data_batch.get('data_samples') if isinstance(data_batch, dict) else None
        failures = [failure for sample in samples or () for failure in sample.get('unreadable', ())]
        for path, reason in failures:
            if path not in self.paths:
                self.paths.add(path)
                runner.logger.warning(f'unreadable image, another one takes its place: {path} ({reason})')
        if self.paths and mode == 'train':
            runner.message_hub.update_scalar('train/unreadable_images', len(self.paths))

    def after_train(self, runner: Runner) -> None:
        """Sum up."""
        if self.paths:
            runner.logger.warning(f'process {get_rank()} met {len(self.paths)} unreadable image(s), named above')
