"""Lines of a log that a terminal shows: warnings, and lines marked for people."""

import logging

from mmengine.dist import is_main_process
from mmengine.logging import MMLogger

from mixcl.errors import with_options
from mixcl.terminal import say

FOR_PEOPLE = dict(for_people=True)
"""``extra`` of a log record that the terminal shows, too."""

IGNORED_WARNINGS = (
    '"FileClient" will be deprecated',
    '"HardDiskBackend" is the alias',
    'This model cannot work without CUDA',
    'is skipped since its requires_grad=False',  # the banner says how much is frozen
)
"""Hidden warnings of other libraries, about things that neither the user nor the config decides."""


def quieten(logger: logging.Logger) -> None:
    """Let a logger print only what is for people; its files get everything."""
    logger.handlers = [
        TerminalHandler(handler) if type(handler) is logging.StreamHandler else handler for handler in logger.handlers
    ]


def tell(text: str) -> None:
    """Log a line for people if no run has a log of its own; once, whatever the number of processes."""
    logger = MMLogger.get_instance('mmengine')
    quieten(logger)
    if is_main_process():
        logger.info(text, extra=FOR_PEOPLE)


class TerminalHandler(logging.StreamHandler):
    """Replacement for a handler that would print everything; does not break the live lines."""

    def __init__(self, full: logging.StreamHandler) -> None:
        super().__init__(full.stream)
        self.setLevel(full.level)
        self.filters = [_for_people, *full.filters]

    def format(self, record: logging.LogRecord) -> str:
        kind = f'{record.levelname.lower()}: ' if record.levelno >= logging.WARNING else ''
        return kind + with_options(super().format(record))

    def emit(self, record: logging.LogRecord) -> None:
        say(self.format(record), self.stream)


def _for_people(record: logging.LogRecord) -> bool:
    if record.levelno < logging.WARNING:
        return getattr(record, 'for_people', False) or record.module == 'early_stopping_hook'  # mmengine's: why it ends
    return not any(text in record.getMessage() for text in IGNORED_WARNINGS)
