"""Draw what a config mixes: originals and mixtures, with the share of each source image.

``python tools/visualize_mix.py configs/patchmix/vit-xs4_digits.py --out mix.png``
"""

import argparse

from mixcl.command_line import OverrideAction
from mixcl.errors import reported_to_user


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description='Draw originals and mixtures of a pretraining config.')
    parser.add_argument('config', help='config file')
    parser.add_argument('--out', default='mix.png', help='PNG file to write')
    parser.add_argument('--num-images', type=int, default=6, help='how many images to show')
    parser.add_argument('--seed', type=int, default=0, help='of the random draws')
    parser.add_argument('--data-root', metavar='DIR', help='root folder of every data set of the config')
    parser.add_argument('--smoke', action='store_true', help='synthetic images at reduced size instead of data')
    parser.add_argument('--cfg-options', nargs='+', action=OverrideAction, metavar='NAME=VALUE', help='override values')
    return parser.parse_args()


if __name__ == '__main__':
    arguments = parse_arguments()  # before the imports that take seconds


from mixcl.configuration import check_data_roots
from mixcl.engine.runners.launch import read_config
from mixcl.engine.runners.smoke import shrink_to_smoke
from mixcl.visualization import mix_preview


def main(args: argparse.Namespace) -> None:
    cfg = read_config(args.config, args.cfg_options, args.data_root)
    if args.smoke:
        shrink_to_smoke(cfg)
    check_data_roots(cfg)
    print(f'written: {mix_preview(cfg, args.out, args.num_images, args.seed)}')


if __name__ == '__main__':
    with reported_to_user():
        main(arguments)
