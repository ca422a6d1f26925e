"""``mixcl complexity patchmix/vit-s2_cifar10``: measure a training iteration's cost, beside the papers' numbers.

Runs on a CPU; on a GPU with ``--device cuda --amp``. An iteration takes all views of a batch of synthetic images:
forward passes, backward pass, optimiser, target encoder.

FLOPs count a multiplication and an addition as two. The papers do not say what theirs count. With all tokens of the
last block (a step computes only its class token) and without the products inside attention, our FLOPs agree with
APS's to 3 %, and twice ours with PatchMix's to 1 %.
"""

from argparse import ArgumentParser, Namespace

from mixcl.command_line import add_overrides, positive

CPU_BATCH = 4


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('--batch-size', type=positive, help=f'default: of the config on a GPU, {CPU_BATCH} on a CPU')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cpu')
    parser.add_argument('--iterations', type=positive, default=5, help='timed iterations, of which the mean is printed')
    parser.add_argument('--amp', action='store_true', help='mixed precision: bfloat16 autocast')
    parser.add_argument('--smoke', action='store_true', help='at the reduced size of mixcl train --smoke')
    add_overrides(parser)


def run(args: Namespace) -> None:
    from mixcl.apis.complexity import SyntheticIteration, measure, paper_values
    from mixcl.recipes.prepared import prepared

    cfg = prepared(args.config, cfg_options=args.cfg_options, smoke=args.smoke, amp=args.amp)
    batch_size = args.batch_size
    if batch_size is None:
        batch_size = cfg.train_dataloader.batch_size if args.device == 'cuda' else CPU_BATCH
    cost = measure(SyntheticIteration(cfg, batch_size, args.device), args.iterations)
    print(f'{args.config}: {batch_size} images per iteration on {args.device}')
    print(f'{"":<32}{"measured":>10}   papers')
    papers = {} if args.smoke else paper_values(args.config)
    for name, value in cost.items():
        print(f'{name:<32}{value:>10.3f}   {papers.get(name, "")}')
