"""Notes on image files that are damaged or had to be converted, and errors for unreadable ones."""

from typing import NamedTuple

from mixcl.errors import UserError, printable


class ImageNote(NamedTuple):
    """A file that is unreadable and was replaced, or that had to be converted.

    Attributes:
        path: the file.
        kind: 'missing', 'empty', 'no image', 'truncated', 'too large', 'damaged' or the like if it is unreadable; else
            what was converted, such as 'grey'.
        reason: in a few words.
    """

    path: str
    kind: str
    reason: str

    def __str__(self) -> str:
        return printable(f'{self.path} ({self.reason})')


class UnreadableImage(Exception):
    """Error of a file that cannot be read as an image. :class:`KeyedDataset` replaces the image by another.

    Attributes:
        note: path, kind and reason as a plain value, which can pass from a loader's worker to the log.
    """

    def __init__(self, path: str, reason: str, kind: str) -> None:
        super().__init__(path, reason, kind)
        self.note = ImageNote(path, kind, reason)

    def __str__(self) -> str:
        return str(self.note)


class NoReadableImage(UserError):
    """Error of an unreadable image that no other replaces: those tried are unreadable, or none is allowed."""

    on_one_process_only = True
