"""mmengine's Runner, but a terminal shows only what people need; the log file has everything."""

from collections.abc import Mapping
from logging import LogRecord
from typing import Any

import torch
from mmengine.config import Config
from mmengine.dist import is_main_process
from mmengine.logging import MMLogger
from mmengine.runner import Runner
from mmpretrain.models import BaseClassifier
from torch import nn
from torch.utils.data import DataLoader

from mixcl.algorithms import Learner
from mixcl.engine.hooks.checkpoint_hook import CheckpointHook
from mixcl.engine.hooks.hook_states import HookStates
from mixcl.engine.hooks.progress_hook import ProgressHook
from mixcl.engine.runners.data_workers import watched
from mixcl.engine.runners.repeating import how_to_repeat
from mixcl.faults import noting_run
from mixcl.heads.sync_batch_norm import has_batch_norm
from mixcl.machine import cpu_cores
from mixcl.quiet_log import quieten
from mixcl.recipes.checking import DEFAULT_HOOKS
from mixcl.starting import without_warnings_of_others
from mixcl.terminal import closing_progress

FUSED = ('Adam', 'AdamW', 'SGD')
"""Optimisers of torch that have a fused implementation."""


class QuickConfig(Config):
    """Config whose text is formatted once: mmengine asks for it six times when a run starts, which takes a second."""

    @property
    def pretty_text(self) -> str:
        content = repr(self._cfg_dict)
        if self.__dict__.get('_formatted', ('',))[0] != content:
            self.__dict__['_formatted'] = content, Config.pretty_text.fget(self)
        return self.__dict__['_formatted'][1]


class QuietRunner(Runner):
    """Same as mmengine's, but a terminal shows :class:`~mixcl.engine.hooks.ProgressHook` in place of the log.

    See :mod:`mixcl.quiet_log` for the lines that the terminal still shows. The parts of the Runner are built for the
    machine: pinned memory, fused optimisers.
    """

    def build_logger(self, *args: Any, **kwargs: Any) -> MMLogger:
        logger = super().build_logger(*args, **kwargs)
        quieten(logger)
        for handler in logger.handlers:
            handler.handleError = _fail
        return logger

    def build_model(self, *args: Any, **kwargs: Any) -> nn.Module:
        model = super().build_model(*args, **kwargs)
        put_channels_last(model)  # before a wrapper for several processes lists the parameters
        return model

    def build_optim_wrapper(self, optim_wrapper: Any) -> Any:
        return super().build_optim_wrapper(with_fused_optimizer(optim_wrapper))

    @staticmethod
    def build_dataloader(dataloader: Any, *args: Any, **kwargs: Any) -> DataLoader:
        """Pin no memory without a GPU (torch would warn at every loader), and keep no workers if there are none.

        There are no more workers than cores and batches, and one that stands still ends the run (:func:`watched`).
        """
        if isinstance(dataloader, Mapping):
            dataloader = dict(dataloader)
            dataloader['num_workers'] = min(dataloader.get('num_workers', 0), cpu_cores())
            if not dataloader['num_workers']:
                dataloader['persistent_workers'] = False
            if not torch.cuda.is_available():
                dataloader['pin_memory'] = False
        return watched(Runner.build_dataloader(dataloader, *args, **kwargs))

    def register_default_hooks(self, hooks: Any = None) -> None:
        """Leave out hooks that are None; mmengine does so for its own hooks only."""
        super().register_default_hooks(
            {name: hook for name, hook in (hooks or {}).items() if hook is not None or name in DEFAULT_HOOKS}
        )

    def register_hooks(self, *args: Any, **kwargs: Any) -> None:
        super().register_hooks(*args, **kwargs)
        self.register_hook(ProgressHook())
        self.register_hook(HookStates())

    def train(self) -> nn.Module:
        if is_main_process():
            self.logger.info(how_to_repeat(self.seed))
        with closing_progress(), without_warnings_of_others(), noting_run(self.log_dir, self._saved):
            return super().train()

    def val(self) -> dict:
        with closing_progress():
            return super().val()

    def test(self) -> dict:
        with closing_progress(), noting_run(self.log_dir, lambda: ''):
            return super().test()

    def _saved(self) -> str:
        """Say what a run that cannot go on has saved."""
        written = [hook.last_ckpt for hook in self.hooks if isinstance(hook, CheckpointHook) and hook.last_ckpt]
        return f'the newest checkpoint is {written[-1]}' if written else 'no checkpoint is saved yet'


def _fail(record: LogRecord) -> None:
    """End a run whose log cannot be written, as on a full disk; the logger would print a traceback for every line."""
    raise  # the error that is being handled


def with_fused_optimizer(optim_wrapper: Any) -> Any:
    """Return the config of an optimiser wrapper with a fused optimiser, if torch has one.

    Not under loss scaling, where the optimiser, and hooks that clip gradients, would get them before the scale is
    undone.
    """
    settings = optim_wrapper if isinstance(optim_wrapper, Mapping) else {}
    optimizer = settings.get('optimizer') or {}
    scaled = str(settings.get('type')).endswith('AmpOptimWrapper')
    if optimizer.get('type') in FUSED and 'foreach' not in optimizer and not scaled:
        return {**settings, 'optimizer': {'fused': True, **optimizer}}
    return optim_wrapper


def put_channels_last(model: nn.Module) -> None:
    """Put the weights of a pretraining model or classifier with a convolutional backbone into channels_last.

    Not those of a vision transformer, whose only convolution would give its patches in the wrong order; nor of a
    detector, since operators of mmcv read the memory as it comes.
    """
    backbone = getattr(model, 'backbone', None) if isinstance(model, (Learner, BaseClassifier)) else None
    if backbone is not None and has_batch_norm(backbone) and not any(map(_is_unsafe_channels_last, backbone.modules())):
        model.to(memory_format=torch.channels_last)  # type: ignore[call-overload]  # not in the stubs


def _is_unsafe_channels_last(layer: nn.Module) -> bool:
    """Whether the backward pass of a layer goes wrong in channels_last.

    With oneDNN's AVX2 code (torch 2.10), every strided 1x1 convolution with fewer than 8 input channels writes beyond
    its memory, whatever its output channels. Grouped ones and the AVX-512 code do not. ``ONEDNN_MAX_CPU_ISA=AVX2``
    selects the AVX2 code. On GPUs, gradients of average pooling with padding are wrong (torch 2.11, pytorch #188344).
    """
    if isinstance(layer, nn.AvgPool2d):
        return layer.padding not in (0, (0, 0))
    return (
        isinstance(layer, nn.Conv2d)
        and layer.kernel_size == (1, 1)
        and max(layer.stride) > 1
        and layer.in_channels < 8
        and layer.groups == 1
    )
