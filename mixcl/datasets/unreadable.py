"""The two errors of images that cannot be read."""

from mixcl.errors import UserError


class UnreadableImage(Exception):
    """One file could not be read as an image. :class:`KeyedDataset` takes another image in its place.

    Attributes:
        path: the file.
        reason: why, in a few words.
    """

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(path, reason)
        self.path = path
        self.reason = reason

    def __str__(self) -> str:
        return f'{self.path} ({self.reason})'


class NoReadableImage(UserError):
    """Every image that was tried in the place of an unreadable one is unreadable as well.

    A loader worker hands an error on as its class, called with the text of the worker's traceback. The sentence at
    the end of that text is the whole message, so that the user reads the same whatever the number of workers.
    """

    of_one_process = True

    def __init__(self, message: str) -> None:
        super().__init__(message.rpartition(f'{type(self).__name__}: ')[2].strip())
