"""``mixcl train patchmix/vit-s16_in1k``: train a model.

With ``--pretrained CHECKPOINT`` the backbone starts from another run's, for linear probes, fine-tuning and the like.
"""

import shlex
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from mixcl.command_line import (
    WEIGHTS,
    add_allow_pickle,
    add_data_root,
    add_data_settings,
    add_launcher,
    add_overrides,
    arguments_of,
)
from mixcl.shipped import find_config, shipped

if TYPE_CHECKING:
    from mmengine.runner import Runner

AFTERWARDS = 'the same command with --resume, without --overwrite, continues from what is saved'


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('config', help='config file, or name of one: mixcl configs lists them')
    parser.add_argument('--work-dir', help='where logs and checkpoints go; default work_dirs/<method>/<config name>')
    parser.add_argument('--resume', nargs='?', const='auto', metavar='CHECKPOINT',
                        help='continue a run: from the newest checkpoint of the work dir, or this one')  # fmt: skip
    parser.add_argument('--allow-changes', action='store_true', help='with --resume: settings may differ from before')
    parser.add_argument('--overwrite', action='store_true', help='remove checkpoints of another run in the work dir')
    parser.add_argument('--pretrained', metavar='WEIGHTS', help=f"{WEIGHTS}; or 'random'")
    parser.add_argument(
        '--encoder', choices=['online', 'target'], help='encoder of --pretrained; default: as the config says'
    )
    parser.add_argument('--max-time', metavar='DURATION', help='save and exit with status 85 after so long: 23h30m')
    add_allow_pickle(parser)
    parser.add_argument('--amp', action='store_true', help='mixed precision: bfloat16 autocast, on CPU and GPU')
    parser.add_argument('--compile', action='store_true', help='compile the blocks of the backbone: for GPUs')
    parser.add_argument(
        '--auto-scale-lr', action='store_true', help="scale the rate with the batch; a recipe's follows by itself"
    )
    parser.add_argument('--no-validate', action='store_true', help='no kNN evaluation during the run')
    parser.add_argument('--cache', metavar='DIR', help='for reduced copies of large photos, from the first epoch on')
    parser.add_argument(
        '--cache-size', type=float, default=100.0, metavar='GB', help='largest size of --cache; default 100'
    )
    parser.add_argument('--data', metavar='IMAGES', help='other images: folder:PATH, list:PATH.csv, hf:PATH or '
                        'tar:PATTERN (docs/your_images.md), or a data set of configs/_base_/data/, '
                        'such as cifar10')  # fmt: skip
    add_data_root(parser, 'root folder of every data set of the config, or of a list')
    add_data_settings(parser)
    parser.add_argument('--backbone', metavar='NAME', help='another backbone, with random weights: '
                        'timm:vit_small_patch16_224, torchvision:resnet50, package.module:Class')  # fmt: skip
    parser.add_argument('--teacher', metavar='WEIGHTS', help=f'in recipes of distillation: {WEIGHTS}')
    parser.add_argument(
        '--image-size', type=int, metavar='PIXELS', help='size of the images of model, views and evaluation'
    )
    parser.add_argument('--smoke', action='store_true', help='20 steps on synthetic images at reduced size')
    add_overrides(parser, 'override values, such as model.mixer.num_mix=2 schedule.epochs=100')
    add_launcher(parser)


def run(args: Namespace) -> None:
    find_config(args.config)  # reports misspelt names before the slow imports
    from mixcl.apis.training import train

    runner = train(**arguments_of(args))
    if runner.rank == 0:
        print(what_is_next(args, runner))


def what_is_next(args: Namespace, runner: 'Runner') -> str:
    """Say where everything is, and the command that most people want next."""
    from mixcl.algorithms import Learner
    from mixcl.distributed import unwrapped
    from mixcl.engine.hooks import CheckpointHook
    from mixcl.recipes.recipe_table import data_of_name

    written = [hook.last_ckpt for hook in runner.hooks if isinstance(hook, CheckpointHook) and hook.last_ckpt]
    lines = [f'everything is in {runner.work_dir}']
    root = f' --data-root {shlex.quote(args.data_root)}' if args.data_root else ''
    if args.smoke:
        without = ' and --overwrite' if args.overwrite else ''
        elsewhere = ', with another --work-dir' if args.work_dir else ''
        lines.append(f'next, the run itself: the same command without --smoke{without}{elsewhere}')
    elif not written or (args.backbone and not args.backbone.startswith(('timm:', 'torchvision:'))):
        pass  # a module of your own needs a config of its own
    elif isinstance(unwrapped(runner.model), Learner):
        file, data = shlex.quote(str(written[-1])), args.data or data_of_name(runner.cfg.config_name)
        known = ':' in data or (shipped('configs') / f'_base_/data/{data}.py').is_file()
        if runner.cfg.get('val_dataloader') is None and (args.data or data == 'folder'):  # images without labels
            lines.append(f'next: mixcl embed {file} --images FOLDER --out features')
        else:
            shown = shlex.quote(data) + root if known else 'NAME'
            lines.append(f'next: mixcl evaluate {file} --data {shown} --protocols knn linear')
    elif not (args.data or args.backbone or args.image_size or args.cfg_options):  # `mixcl test` has no such options
        lines.append(f'next: mixcl test {shlex.quote(args.config)} {shlex.quote(str(written[-1]))}{root}')
    return '\n'.join(lines)
