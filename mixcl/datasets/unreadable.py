"""What can be wrong with image files, and the two errors of those that cannot be read."""

from typing import NamedTuple

from mixcl.errors import UserError

KINDS = ('missing', 'empty', 'no image', 'truncated', 'too large', 'damaged')
"""Kinds of unreadable files."""


class ImageNote(NamedTuple):
    """One file that is not as it should be: unreadable and replaced, or read only after a conversion.

    Attributes:
        path: the file.
        kind: one of :data:`KINDS`, or what was converted, such as 'CMYK'.
        reason: in a few words.
    """

    path: str
    kind: str
    reason: str


class UnreadableImage(Exception):
    """One file could not be read as an image. :class:`KeyedDataset` takes another image in its place.

    Attributes:
        path: the file.
        reason: why, in a few words.
        kind: one of :data:`KINDS`.
    """

    def __init__(self, path: str, reason: str, kind: str = 'damaged') -> None:
        super().__init__(path, reason, kind)
        self.path = path
        self.reason = reason
        self.kind = kind

    def __str__(self) -> str:
        return f'{self.path} ({self.reason})'

    @property
    def note(self) -> ImageNote:
        """The same as a plain value, which travels from a loader's worker to the log."""
        return ImageNote(self.path, self.kind, self.reason)


class NoReadableImage(UserError):
    """An image that cannot be read, and none takes its place: all that were tried are unreadable, or none may.

    A loader worker hands an error on as its class, called with the text of the worker's traceback. The sentence at
    the end of that text is the whole message, so that the user reads the same whatever the number of workers.
    """

    of_one_process = True

    def __init__(self, message: str) -> None:
        super().__init__(message.rpartition(f'{type(self).__name__}: ')[2].strip())
