"""``mixcl pretrain --data photos --out run``: pretrain a backbone on your own images.

Without other options, the run's length, batch size and data loading fit the number of images and the machine;
docs/python.md says how. Repeating the command continues a stopped run.
"""

import shlex
from argparse import ArgumentParser, BooleanOptionalAction, Namespace

from mixcl.command_line import WEIGHTS, add_data_root, add_data_settings, add_launcher, add_overrides, arguments_of
from mixcl.errors import is_first_process
from mixcl.shipped import config_name, config_of

SETTINGS = dict(backbone='--model')
"""Options of this command that differ from the name of their setting."""

AFTERWARDS = 'the same command, without --overwrite, continues from the last checkpoint'


EXAMPLES = """
examples:
  mixcl pretrain --data photos --out run
  mixcl pretrain --data photos --out run --model timm:resnet18 --image-size 96 --epochs 50   # hours on a CPU
"""


def add_options(parser: ArgumentParser) -> None:
    parser.add_argument('--data', required=True, metavar='FOLDER',
                        help='a folder of images, however deep; or list:PATH.csv, hf:PATH or tar:PATTERN')  # fmt: skip
    add_data_root(parser, 'root folder of the paths of a list')
    add_data_settings(parser)
    parser.add_argument('--out', required=True, metavar='FOLDER', help='where logs and checkpoints go')
    parser.add_argument('--name', help='of the run in its card, figures and tables; default METHOD/BACKBONE_folder')
    parser.add_argument('--method',
                        help='default patchmix; mocov3, dino; with a host: sdmp/dino, mixco/simclr')  # fmt: skip
    parser.add_argument('--model', metavar='NAME', help='another backbone: timm:vit_small_patch16_224, torchvision:'
                        "resnet50, package.module:Class; default the method's")  # fmt: skip
    parser.add_argument('--teacher', metavar='WEIGHTS', help=f"distil it into the backbone: {WEIGHTS}; "
                        'the method is then distillation')  # fmt: skip
    parser.add_argument('--epochs', type=int, help='default: about 25,000 steps, but 100 to 800 epochs')
    parser.add_argument('--batch-size', type=int, metavar='IMAGES', help='per process; default 4 to 128, by the number '
                        'of images')  # fmt: skip
    parser.add_argument('--lr', type=float, metavar='RATE', help="the highest learning rate; default the method's, "
                        'scaled to the batch')  # fmt: skip
    parser.add_argument('--seed', type=int, metavar='N', help="of weights, views and mixtures; default the method's, 7")
    parser.add_argument('--image-size', type=int, metavar='PIXELS', help="of the views; default the method's, 224")
    parser.add_argument('--pretrained', metavar='WEIGHTS', help=f'start from {WEIGHTS}; default random weights')
    parser.add_argument('--num-workers', type=int, help='processes that load images; default by the cores')
    parser.add_argument('--cache', metavar='DIR', help='for reduced copies of large photos; default none')
    parser.add_argument(
        '--cache-size', type=float, default=100.0, metavar='GB', help='largest size of --cache; default 100'
    )
    parser.add_argument('--amp', action=BooleanOptionalAction, help='bfloat16 autocast; default on a GPU')
    parser.add_argument('--overwrite', action='store_true', help='remove the checkpoints of another run in --out')
    parser.add_argument('--allow-changes', action='store_true', help='continue the run in --out though settings differ')
    parser.add_argument('--max-time', metavar='DURATION', help='save and exit with status 85 after so long, such as '
                        '23h30m; default no limit')  # fmt: skip
    add_overrides(parser)
    add_launcher(parser)


def run(args: Namespace) -> None:
    recipe = config_of(args.method, args.model, args.teacher)  # reports misspelt names before the slow imports
    if is_first_process():
        print(f'the recipe is that of {config_name(recipe)}')
    from mmengine.dist import is_main_process

    from mixcl.apis.pretraining import pretrain

    checkpoint = pretrain(**arguments_of(args))
    if is_main_process():
        print(f'the backbone is in {checkpoint}')
        usual = 'timm' if recipe.stem.startswith('vit') else 'torchvision'
        library = (args.model or usual).partition(':')[0]
        # Your own module is code: it is imported only from a config that you name.
        to = (
            library
            if library in ('timm', 'torchvision')
            else f'onnx --config {shlex.quote(f"{args.out}/{recipe.name}")}'
        )
        print(f'next: mixcl export {shlex.quote(args.out)} --out backbone --to {to}')
