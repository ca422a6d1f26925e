"""Notes on image files that are damaged or had to be converted, and the errors of unreadable ones."""

from typing import NamedTuple

from mixcl.errors import UserError, printable


class ImageNote(NamedTuple):
    """A file that is unreadable and was replaced, or that could be read only after a conversion.

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
    """An image cannot be read, and no other takes its place: those tried are unreadable, or none is allowed."""

    of_one_process = True
