"""Logs and curves that cannot be written: the run goes on without them, and says so once."""

import logging
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from mmengine.runner import Runner


def outlive_write_errors(runner: Runner) -> None:
    """Let a run go on where its log, scalars or TensorBoard's events cannot be written, as on a full disk.

    What could not be written is lost, apart from the text of the log, which follows once there is room.
    """
    told: list[OSError] = []

    def tell(error: OSError) -> None:
        if not told:
            told.append(error)
            runner.logger.error(
                f'logs and curves cannot be written to {runner.log_dir} ({error.strerror or error}): the run goes on, '
                'and what they would tell of it is lost until there is room again'
            )

    def handle(otherwise: Callable[[logging.LogRecord], None], record: logging.LogRecord) -> None:
        """Before ``logging.Handler.handleError``, which prints a traceback for every line."""
        error = sys.exc_info()[1]
        tell(error) if isinstance(error, OSError) else otherwise(record)

    for handler in runner.logger.handlers:
        handler.handleError = partial(handle, handler.handleError)
    backends = runner.visualizer._vis_backends
    for name, backend in backends.items():
        backends[name] = _Backend(backend, tell)


class _Backend:
    """A backend of mmengine's visualizer whose calls do nothing where they cannot write."""

    def __init__(self, backend: Any, tell: Callable[[OSError], None]) -> None:
        self._backend = backend
        self._tell = tell

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._backend, name)
        if not callable(found):
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            try:
                return found(*args, **kwargs)
            except OSError as error:
                self._tell(error)

        return call
