"""``mixcl check-config patchmix/vit-s16_in1k --processes 8``: check a config as a training run does.

Exit status: 0 if a run could start, 2 otherwise, with one sentence. ``--cost`` counts a step on the CPU, which takes
seconds for a small model and a minute for a large one; therefore it is an option.
"""

from argparse import ArgumentParser, Namespace

from mixcl.command_line import add_data_root, add_overrides, positive
from mixcl.errors import UserError


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('--processes', type=positive, default=1, help='how many will train, for batches and queues')
    parser.add_argument('--no-data', action='store_true', help='do not look for the data folders')
    parser.add_argument('--cost', action='store_true', help='count passes, FLOPs and memory of a pretraining step')
    add_data_root(parser)
    add_overrides(parser)


def run(args: Namespace) -> None:
    from mixcl.engine.runners.dry_run import check_start
    from mixcl.engine.runners.step_cost import cost_lines
    from mixcl.recipes.data_roots import check_data_roots, check_metric_files
    from mixcl.recipes.prepared import prepared

    cfg = prepared(args.config, cfg_options=args.cfg_options, data_root=args.data_root, processes=args.processes)
    if not args.no_data:
        try:
            check_data_roots(cfg)
            check_metric_files(cfg, 'val_evaluator')
        except UserError as error:
            raise UserError(f'{error}; --no-data checks all but the data') from error
    lines = check_start(cfg, args.processes)
    if args.cost:
        lines += cost_lines(cfg, args.processes)
    print('\n'.join([*lines, 'a run could start']))
