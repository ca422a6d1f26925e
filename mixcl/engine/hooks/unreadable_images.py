"""Images that cannot be read: they are logged and counted, and too many stop the run."""

from collections import Counter
from collections.abc import Iterator

from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.datasets.unreadable import ImageNote
from mixcl.errors import UserError, printable
from mixcl.registry import HOOKS

TOLERATED = 5
"""Number of unreadable images that never stops a run, however small its data set."""


@HOOKS.register_module()
class UnreadableImagesHook(Hook):
    """Logs the files that :class:`~mixcl.datasets.KeyedDataset` replaced or converted, and counts them by kind.

    Each process logs each unreadable file once, with the reason, and the first converted file of each kind (grey, CMYK,
    16-bit, ...). The number of unreadable training files, if any, is logged as ``train/unreadable_images``.

    Args:
        max_share: largest tolerated share of unreadable training images, in [0, 1]; the run stops if there are more,
            and more than five.
    """

    def __init__(self, max_share: float = 0.001) -> None:
        self.max_share = max_share
        self.unreadable: dict[str, ImageNote] = {}  # training images only
        self.named: set[str] = set()
        self.converted: Counter = Counter()

    def _before_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | tuple | list | None = None, mode: str = 'train'
    ) -> None:
        for note in _notes(data_batch, 'unreadable'):
            if note.path not in self.named:
                runner.logger.warning(f'unreadable image, replaced by another: {note}')
                self.named.add(note.path)
            if mode == 'train':
                self.unreadable[note.path] = note
        for note in _notes(data_batch, 'converted'):
            if note.kind not in self.converted:
                runner.logger.info(
                    f'image converted to 8-bit colour: {printable(note.path)} ({note.kind}); others are only counted'
                )
            self.converted[note.kind] += 1
        if self.unreadable and mode == 'train':
            runner.message_hub.update_scalar('train/unreadable_images', len(self.unreadable))
            self._stop_if_too_many(len(runner.train_dataloader.dataset))

    def after_train(self, runner: Runner) -> None:
        if self.unreadable:
            runner.logger.warning(
                f'process {get_rank()} met {len(self.unreadable)} unreadable training image(s), named above: '
                f'{_listed(self._kinds())}'
            )
        if self.converted:
            runner.logger.info(f'process {get_rank()} converted images as it loaded them: {_listed(self.converted)}')

    def _stop_if_too_many(self, num_images: int) -> None:
        count, (first, *_) = len(self.unreadable), self.unreadable.values()
        if count > max(TOLERATED, self.max_share * num_images):
            error = UserError(
                f'{count} of {num_images} training images cannot be read ({_listed(self._kinds())}), more than '
                f'max_share={self.max_share:g} of UnreadableImagesHook; the first: {first}; list '
                'them all with mixcl verify-data and repair or remove them, or raise max_share'
            )
            error.on_one_process_only = True
            raise error

    def _kinds(self) -> Counter:
        return Counter(note.kind for note in self.unreadable.values())


def _notes(data_batch: dict | tuple | list | None, name: str) -> Iterator[ImageNote]:
    samples = data_batch.get('data_samples') if isinstance(data_batch, dict) else None
    for sample in samples or ():
        yield from sample.get(name, ())


def _listed(kinds: Counter) -> str:
    return ', '.join(f'{number} {kind}' for kind, number in sorted(kinds.items()))
