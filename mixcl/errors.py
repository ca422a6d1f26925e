"""Errors that are meant for the person at the keyboard, not for a debugger."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


class UserError(ValueError):
    """Something that the user gave cannot work.

    The message is one clear sentence: what was wrong, which value, where it came from, and what to do.
    The command-line tools print it without a traceback; Python callers may catch it as a ``ValueError``.
    """

    of_one_process = False
    """Whether one process of a distributed run meets it alone; otherwise all meet the same and the first tells."""

    def __init__(self, message: str) -> None:
        # torch raises an error of a data worker again with the worker's traceback in front of the sentence.
        super().__init__(message.rpartition('UserError: ')[2].strip())


@contextmanager
def reported_to_user() -> Iterator[None]:
    """Print a :class:`UserError` as one sentence and exit with status 2; Ctrl-C exits with 130.

    With ``MIXCL_TRACEBACK=1`` in the environment the error is raised instead, for those who write their own parts.
    """
    try:
        yield
    except UserError as error:
        if os.environ.get('MIXCL_TRACEBACK'):
            raise
        sys.stdout.flush()
        if error.of_one_process or os.environ.get('RANK', '0') == '0':
            print(f'error: {error}', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        print('\ninterrupted: the same command with --resume continues from the last finished epoch', file=sys.stderr)
        sys.exit(130)
