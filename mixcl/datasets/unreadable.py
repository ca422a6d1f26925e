"""What can be wrong with image files, and the two errors of those that cannot be read."""

from typing import NamedTuple

from mixcl.errors import UserError, printable


class ImageNote(NamedTuple):
    """One file that is not as it should be: unreadable and replaced, or read only after a conversion.

    Attributes:
        path: the file.
        kind: 'missing', 'empty', 'no image', 'truncated', 'too large' or 'damaged' where it is unreadable; else what
            was converted, such as 'grey'.
        reason: in a few words.
    """

    path: str
    kind: str
    reason: str

    def __str__(self) -> str:
        return printable(f'{self.path} ({self.reason})')


class UnreadableImage(Exception):
    """One file could not be read as an image. :class:`KeyedDataset` takes another image in its place.

    Attributes:
        note: the file, its kind and the reason as a plain value, which travels from a loader's worker to the log.
    """

    def __init__(self, path: str, reason: str, kind: str) -> None:
        super().__init__(path, reason, kind)
        self.note = ImageNote(path, kind, reason)

    def __str__(self) -> str:
        return str(self.note)


class NoReadableImage(UserError):
    """An image cannot be read, and none takes its place: all that were tried are unreadable, or none may."""

    of_one_process = True
