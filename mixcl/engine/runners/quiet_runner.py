"""mmengine's Runner, of which a terminal shows only what people need; the log file has everything."""

import logging
from typing import Any

from mmengine.logging import MMLogger
from mmengine.runner import Runner
from torch import nn

from mixcl.engine.hooks.progress_hook import ProgressHook
from mixcl.terminal import beside_progress, none_left_open

OF_THE_ENGINE = (
    '"FileClient" will be deprecated',
    '"HardDiskBackend" is the alias',
    'Reach the end of the dataloader',
    'The prefix is not set in metric class',
)
"""Warnings about what neither the user nor the config decides."""


class QuietRunner(Runner):
    """Same as mmengine's; beside its log there is how far it is, by :class:`~mixcl.engine.hooks.ProgressHook`.

    To the terminal go warnings, and records that are marked by ``extra=``:data:`~mixcl.terminal.FOR_PEOPLE`.
    """

    def build_logger(self, *args: Any, **kwargs: Any) -> MMLogger:
        logger = super().build_logger(*args, **kwargs)
        logger.handlers = [
            TerminalHandler(handler) if type(handler) is logging.StreamHandler else handler
            for handler in logger.handlers
        ]
        return logger

    def register_hooks(self, *args: Any, **kwargs: Any) -> None:
        super().register_hooks(*args, **kwargs)
        self.register_hook(ProgressHook())

    def train(self) -> nn.Module:
        with none_left_open():
            return super().train()

    def val(self) -> dict:
        with none_left_open():
            return super().val()

    def test(self) -> dict:
        with none_left_open():
            return super().test()


class TerminalHandler(logging.StreamHandler):
    """Prints what is for people, without breaking the live line.

    Args:
        full: the handler that would print everything, whose place this takes.
    """

    def __init__(self, full: logging.StreamHandler) -> None:
        super().__init__(full.stream)
        self.setLevel(full.level)
        self.filters = [_for_people, *full.filters]

    def format(self, record: logging.LogRecord) -> str:
        kind = f'{record.levelname.lower()}: ' if record.levelno >= logging.WARNING else ''
        return kind + super().format(record)

    def emit(self, record: logging.LogRecord) -> None:
        with beside_progress():
            super().emit(record)


def _for_people(record: logging.LogRecord) -> bool:
    if record.levelno < logging.WARNING:
        return getattr(record, 'for_people', False)
    return not any(text in record.getMessage() for text in OF_THE_ENGINE)
