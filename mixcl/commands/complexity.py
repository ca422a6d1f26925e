"""``mixcl complexity patchmix/vit-s2_cifar10``: what a training iteration costs, beside what the papers say.

On a CPU, with ``--device cuda --amp`` on a GPU. An iteration is all views of a batch of synthetic images: forward
passes, backward pass, optimiser, target encoder.

FLOPs count a multiplication and an addition as two. The papers say "GFLOPs" without saying of what: APS's agree with
ours of one image in both directions without the products inside of attention, to 3 %. PatchMix's agree with twice that,
to 1 %.
"""

from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import TYPE_CHECKING

from mixcl.command_line import add_overrides
from mixcl.errors import UserError

if TYPE_CHECKING:
    from mixcl.apis.complexity import Complexity

CPU_BATCH = 4

FLOPS, MEMORY, SECONDS = 'GFLOPs per image', 'memory', 'seconds'

# By config, for both CIFAR data sets: PatchMix, Table 3; APS, Table 2 (batch 512, mixed precision); MixCo, Table 2 (64
# images on each of two GPUs; seconds per epoch divided by its 781 iterations).
PAPERS = {
    'mocov3/vit-t2_cifar': {FLOPS: '44.4 (PatchMix), 21.9 (APS)', MEMORY: '40.0 GB (APS)'},
    'mocov3/vit-s2_cifar': {FLOPS: '175.6 (PatchMix), 87.6 (APS)', MEMORY: '80.0 GB (APS)'},
    'mocov3/vit-b2_cifar': {FLOPS: '700.0 (PatchMix), 348.2 (APS)', MEMORY: '159.3 GB (APS)'},
    'dino/vit-t2_cifar': {FLOPS: '80.2 (PatchMix)'},
    'dino/vit-s2_cifar': {FLOPS: '311.4 (PatchMix)'},
    'dino/vit-b2_cifar': {FLOPS: '1237.2 (PatchMix)'},
    'patchmix/vit-s2_cifar_resizemix': {FLOPS: '197.6 (SDMP in PatchMix)'},
    'patchmix/vit-t2_cifar': {FLOPS: '50.0 (PatchMix)'},
    'patchmix/vit-s2_cifar': {FLOPS: '197.6 (PatchMix)'},
    'patchmix/vit-b2_cifar': {FLOPS: '787.3 (PatchMix)'},
    'aps/vit-t2_cifar': {FLOPS: '4.2 (APS)', MEMORY: '9.0 GB (APS)'},
    'aps/vit-s2_cifar': {FLOPS: '16.2 (APS)', MEMORY: '16.2 GB (APS)'},
    'aps/vit-b2_cifar': {FLOPS: '66.2 (APS)', MEMORY: '33.1 GB (APS)'},
    'mocov2/r18_tinyimagenet': {MEMORY: '3.5 GB per GPU (MixCo)', SECONDS: '0.170 (MixCo)'},
    'mocov2/r34_tinyimagenet': {MEMORY: '4.3 GB per GPU (MixCo)', SECONDS: '0.315 (MixCo)'},
    'mocov2/r50_tinyimagenet': {MEMORY: '8.1 GB per GPU (MixCo)', SECONDS: '0.393 (MixCo)'},
    'mixco/r18_tinyimagenet_mocov2': {MEMORY: '4.5 GB per GPU (MixCo)', SECONDS: '0.196 (MixCo)'},
}


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file')
    parser.add_argument('--batch-size', type=int, help=f'default: of the config on a GPU, {CPU_BATCH} on a CPU')
    parser.add_argument('--device', choices=['cpu', 'cuda'], default='cpu')
    parser.add_argument('--iterations', type=int, default=5, help='timed iterations, of which the mean is printed')
    parser.add_argument('--amp', action='store_true', help='mixed precision: bfloat16 autocast')
    parser.add_argument('--smoke', action='store_true', help='at the reduced size of mixcl train --smoke')
    add_overrides(parser)


def run(args: Namespace) -> None:
    if args.iterations < 1:
        raise UserError(f'--iterations must be at least 1, not {args.iterations}')
    from mixcl.apis.complexity import SyntheticIteration, measure
    from mixcl.experiments.prepared import prepared

    cfg = prepared(args.config, cfg_options=args.cfg_options, smoke=args.smoke, amp=args.amp)
    batch_size = args.batch_size
    if batch_size is None:
        batch_size = cfg.train_dataloader.batch_size if args.device == 'cuda' else CPU_BATCH
    cost = measure(SyntheticIteration(cfg, batch_size, args.device), args.iterations)
    print(f'{args.config}: {batch_size} images per iteration on {args.device}')
    print(f'{"":<30}{"measured":>12}   papers')
    for label, value, papers in table(cost, batch_size, {} if args.smoke else paper_values(args.config)):
        print(f'{label:<30}{value:>12}   {papers}')


def table(cost: 'Complexity', batch_size: int, papers: dict[str, str]) -> list[tuple[str, str, str]]:
    """Rows of (quantity, measured, papers)."""
    rows = [
        ('parameters of the backbone', f'{cost.backbone_parameters / 1e6:.2f} M', ''),
        ('parameters trained', f'{cost.trained_parameters / 1e6:.2f} M', ''),
        ('GFLOPs per iteration', f'{cost.flops / 1e9:.2f}', ''),
        (FLOPS, f'{cost.flops / batch_size / 1e9:.2f}', FLOPS),
        ('  without attention products', f'{cost.layer_flops / batch_size / 1e9:.2f}', ''),
        ('activation memory', f'{cost.activation_bytes / 2**30:.3f} GiB', MEMORY if cost.total_bytes is None else ''),
        ('seconds per iteration', f'{cost.seconds:.3f}', SECONDS),
    ]
    if cost.total_bytes is not None:
        rows.insert(-1, ('peak memory', f'{cost.total_bytes / 2**30:.3f} GiB', MEMORY))
    return [(label, value, papers.get(key, '-')) for label, value, key in rows]


def paper_values(config: str) -> dict[str, str]:
    """What the papers say of a config, by quantity."""
    path = Path(config)
    name = f'{path.parent.name}/{path.stem}'.replace('cifar100', 'cifar').replace('cifar10', 'cifar')
    return PAPERS.get(name, {})
