"""Names images that cannot be read in the log, counts them, and stops a run that has too many."""

from collections import Counter
from collections.abc import Iterator

from mmengine.dist import get_rank
from mmengine.hooks import Hook
from mmengine.runner import Runner

from mixcl.datasets.unreadable import ImageNote
from mixcl.errors import UserError, printable
from mixcl.registry import HOOKS

TOLERATED = 5
"""So many unreadable images stop no run, however small its data set."""


@HOOKS.register_module()
class UnreadableImagesHook(Hook):
    """Logs the files that :class:`~mixcl.datasets.KeyedDataset` replaced or converted, and counts them by kind.

    Each process logs the unreadable files that it met, each once, with the reason; of files that were converted (grey,
    CMYK, 16-bit, ...) the first of each kind. Once there was one, their number is ``train/unreadable_images``.

    Args:
        max_share: the run stops when more than this share of the training images (and more than five) turned out
            unreadable, in [0, 1].
    """

    def __init__(self, max_share: float = 0.001) -> None:
        self.max_share = max_share
        self.unreadable: dict[str, ImageNote] = {}  # of the training images
        self.named: set[str] = set()
        self.converted: Counter = Counter()

    def _before_iter(
        self, runner: Runner, batch_idx: int, data_batch: dict | tuple | list | None = None, mode: str = 'train'
    ) -> None:
        for note in _notes(data_batch, 'unreadable'):
            if note.path not in self.named:
                runner.logger.warning(f'unreadable image, another one takes its place: {note}')
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
            error.of_one_process = True
            raise error

    def _kinds(self) -> Counter:
        return Counter(note.kind for note in self.unreadable.values())


def _notes(data_batch: dict | tuple | list | None, name: str) -> Iterator[ImageNote]:
    samples = data_batch.get('data_samples') if isinstance(data_batch, dict) else None
    for sample in samples or ():
        yield from sample.get(name, ())


def _listed(kinds: Counter) -> str:
    return ', '.join(f'{number} {kind}' for kind, number in sorted(kinds.items()))
