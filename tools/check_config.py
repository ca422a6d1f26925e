"""Check a config as a training run does before it touches data or a GPU.

``python tools/check_config.py configs/patchmix/vit-s16_in1k.py --processes 8``

Exit status: 0 if a run could start, 2 otherwise, with one sentence.
"""

from mixcl.starting import begin

begin(__name__)

import argparse

from mixcl.command_line import OverrideAction
from mixcl.errors import UserError, reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Check a config.')
    parser.add_argument('config', help='config file')
    parser.add_argument('--processes', type=int, default=1, help='how many will train, for batches and queues')
    parser.add_argument('--no-data', action='store_true', help='do not look for the data folders')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE', help='override values')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds

from mmengine.config import Config
from mmengine.optim import build_optim_wrapper
from mmengine.registry import DefaultScope

from mixcl.configuration import (
    built_from,
    check_data_roots,
    check_files,
    check_metric_files,
    schedule_notes,
)
from mixcl.engine.runners.activation_checkpointing import checkpoint_activations
from mixcl.engine.runners.dry_run import try_hooks, try_schedules, try_views
from mixcl.engine.runners.launch import read_config
from mixcl.registry import MODELS


def check_model(cfg: Config, processes: int) -> None:
    """Build the model on the CPU, and let its parts judge the batch.

    Raises:
        UserError: if it cannot be built, or the batch does not fit.
    """
    with DefaultScope.overwrite_default_scope(cfg.get('default_scope') or 'mmengine'), built_from(cfg):
        # As the Runner does, which hands the preprocessor of the top level to the model.
        preprocessor = {'data_preprocessor': cfg.data_preprocessor} if cfg.get('data_preprocessor') else {}
        model = MODELS.build({**preprocessor, **cfg.model})
        if cfg.get('train_cfg'):
            build_optim_wrapper(model, _plain_wrapper(cfg.optim_wrapper))
    if cfg.get('activation_checkpointing') is not None:
        checkpoint_activations(model, cfg.activation_checkpointing)
    try_views(cfg, model, processes)


def _plain_wrapper(optim_wrapper: dict) -> dict:
    """The optimiser without loss scaling, which a machine without a GPU refuses though another may train with it."""
    shared = ('optimizer', 'constructor', 'paramwise_cfg', 'clip_grad', 'accumulative_counts')
    return {name: optim_wrapper[name] for name in shared if name in optim_wrapper}


def batch_lines(cfg: Config, processes: int) -> list[str]:
    """How the global batch compares with the one that the learning rate was made for.

    Raises:
        UserError: if that one cannot be reached with so many processes.
    """
    batch_size = (cfg.get('train_dataloader') or {}).get('batch_size')
    if batch_size is None:
        return []
    accumulated = cfg.optim_wrapper.get('accumulative_counts', 1)
    images = processes * batch_size * accumulated
    lines = [f'global batch {images}: {batch_size} images on each of {processes} process(es)']
    base = (cfg.get('auto_scale_lr') or {}).get('base_batch_size')
    if base and base != processes * batch_size:  # what is accumulated stays out of it
        share = (
            f'train_dataloader.batch_size={base // processes} gives it'
            if base % processes == 0
            else f'it cannot be divided among {processes} processes'
        )
        lines.append(f'note: the learning rate is for a batch of {base}; {share}, or --auto-scale-lr scales the rate')
    return lines


def main(args: argparse.Namespace) -> None:
    if args.processes < 1:
        raise UserError(f'--processes must be at least 1, not {args.processes}')
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    check_files(cfg)
    if not args.no_data:
        try:
            check_data_roots(cfg)
            check_metric_files(cfg, 'val_evaluator')
        except UserError as error:
            raise UserError(f'{error}; --no-data checks all but the data') from error
    try_hooks(cfg)
    try_schedules(cfg)
    check_model(cfg, args.processes)
    notes = [f'note: {note}' for note in schedule_notes(cfg)]
    print('\n'.join([*batch_lines(cfg, args.processes), *notes, 'a run could start']))


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
